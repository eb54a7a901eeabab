//! Sizes on the command line: `1048576`, `10MB`, `1GiB`.

/// Units and their bytes: decimal as in `MB`, binary as in `MiB`.
const UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("b", 1),
    ("k", 1_000),
    ("kb", 1_000),
    ("kib", 1 << 10),
    ("m", 1_000_000),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
];

/// The number of bytes that a text names. At least one.
///
/// # Errors
/// What a size looks like.
pub fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let unit = text[digits..].trim_start().to_ascii_lowercase();
    let unit = if unit == "g" { "gb" } else { &unit };
    let factor = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor);
    let size = text[..digits]
        .parse::<u64>()
        .ok()
        .zip(factor)
        .and_then(|(number, factor)| number.checked_mul(factor));
    size.filter(|size| *size > 0).ok_or_else(|| {
        "a size is a whole number of bytes, or one with a unit: `10MB`, `1GiB`".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        let sizes = ["7", "7B", "2k", "10MB", "10 mb", "10MiB", "1g", "1GiB"]
            .map(|text| bytes(text).unwrap());
        assert_eq!(
            sizes,
            [
                7,
                7,
                2_000,
                10_000_000,
                10_000_000,
                10 << 20,
                1_000_000_000,
                1 << 30
            ]
        );
        for text in [
            "",
            "0",
            "MB",
            "-1",
            "1.5MB",
            "10XB",
            "99999999999GiB",
            "1 0",
        ] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
