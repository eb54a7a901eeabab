//! The protobuf wire format, read field by field. Nothing nests here and nothing is copied, so the input bounds the work.

/// A field's value in its wire type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// An integer, a Boolean or an enum.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Text, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireError {
    /// They end inside a field.
    Truncated,
    /// A varint of more than ten bytes or 64 bits.
    Varint,
    /// A field number of 0, or over 2^29-1.
    Number,
    /// A wire type that proto3 does not write.
    Type,
}

/// The longest varint, in bytes.
const MAX_VARINT: usize = 10;
/// The largest field number.
const MAX_NUMBER: u64 = (1 << 29) - 1;

/// The fields of a message, in the order of the wire. Ends after the first error.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of a message.
    pub(super) fn new(message: &'a [u8]) -> Self {
        Fields { rest: message }
    }

    fn field(&mut self) -> Result<(u32, Value<'a>), WireError> {
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 || number > MAX_NUMBER {
            return Err(WireError::Number);
        }
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| WireError::Truncated)?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(WireError::Type),
        };
        // It fits: its bounds were checked.
        Ok((u32::try_from(number).map_err(|_| WireError::Number)?, value))
    }

    fn varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0u64;
        for at in 0..MAX_VARINT {
            let byte = *self.rest.get(at).ok_or(WireError::Truncated)?;
            let bits = u64::from(byte & 0x7f);
            if at == MAX_VARINT - 1 && bits > 1 {
                return Err(WireError::Varint);
            }
            value |= bits << (7 * at);
            if byte & 0x80 == 0 {
                self.rest = self.rest.get(at + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        Err(WireError::Varint)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        self.take(N)?.try_into().map_err(|_| WireError::Truncated)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(message: &[u8]) -> Result<Vec<(u32, Value<'_>)>, WireError> {
        Fields::new(message).collect()
    }

    #[test]
    fn fields_are_read() {
        let message = b"\x08\x96\x01\x12\x02hi\x19\x01\0\0\0\0\0\0\0\x25\x02\0\0\0";
        let expected = [
            (1, Value::Varint(150)),
            (2, Value::Bytes(b"hi")),
            (3, Value::Fixed64(1)),
            (4, Value::Fixed32(2)),
        ];
        assert_eq!(all(message).unwrap(), expected);
        assert_eq!(all(b"").unwrap(), []);
    }

    #[test]
    fn invalid_bytes_are_an_error() {
        for (bytes, error) in [
            (&b"\x08"[..], WireError::Truncated),
            (b"\x12\x05hi", WireError::Truncated),
            (
                b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                WireError::Varint,
            ),
            (
                b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
                WireError::Varint,
            ),
            (b"\x00\x01", WireError::Number),
            (b"\x0b", WireError::Type),
            (
                b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                WireError::Truncated,
            ),
        ] {
            assert_eq!(all(bytes).unwrap_err(), error, "{bytes:?}");
        }
    }

    fn push_varint(out: &mut Vec<u8>, mut value: u64) {
        while value > 0x7f {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    proptest! {
        #[test]
        fn reading_any_bytes_terminates(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let count = Fields::new(&bytes).count();
            prop_assert!(count <= bytes.len());
        }

        #[test]
        fn written_fields_are_read_back(fields in proptest::collection::vec((1u32..=(1 << 29) - 1, any::<u64>(), any::<Option<Vec<u8>>>()), 0..20)) {
            let mut message = Vec::new();
            for (number, value, bytes) in &fields {
                push_varint(&mut message, u64::from(*number) << 3 | if bytes.is_some() { 2 } else { 0 });
                match bytes {
                    Some(bytes) => {
                        push_varint(&mut message, bytes.len() as u64);
                        message.extend_from_slice(bytes);
                    }
                    None => push_varint(&mut message, *value),
                }
            }
            let read = all(&message).unwrap();
            prop_assert_eq!(read.len(), fields.len());
            for ((number, value), (expected, varint, bytes)) in read.iter().zip(&fields) {
                prop_assert_eq!(number, expected);
                prop_assert_eq!(*value, bytes.as_deref().map_or(Value::Varint(*varint), Value::Bytes));
            }
        }
    }
}
