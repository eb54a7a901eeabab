//! Numbers in few bytes: seven bits a byte, the lowest first; the last byte is below 128.

/// Writes a number.
pub fn write(data: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        data.push((number as u8) | 128);
        number >>= 7;
    }
    data.push(number as u8);
}

/// Reads a number, and moves `data` behind it. `None` if there is no whole number.
pub fn read(data: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = data.split_first()?;
        *data = rest;
        number |= u64::from(byte & 127) << shift;
        if *byte < 128 {
            return Some(number);
        }
    }
    None
}
