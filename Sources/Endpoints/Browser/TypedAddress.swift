import Vocabulary

/// Reads a typed or pasted address as the user means it. The result decides only where the user signs in.
package enum TypedAddress {
    /// The distance from an ASCII character to its full-width form.
    private static let width: UInt32 = 0xFEE0
    private static let wide: ClosedRange<UInt32> = 0xFF01...0xFF5E
    /// The full stops of input methods, which are read as dots in host names (UTS #46 2.3).
    private static let stops: Set<UInt32> = [0x3002, 0xFF0E, 0xFF61]

    /// Returns the text without invisible characters at its ends. An address in full-width forms is converted to ASCII.
    package static func meant(by text: String) -> String {
        let scalars = text.unicodeScalars
        let start = scalars.drop(while: Self.isUnseen)
        guard let last = start.lastIndex(where: { !Self.isUnseen($0) }) else { return "" }
        let typed = start[...last]
        var narrow = String.UnicodeScalarView()
        for scalar in typed {
            let value =
                Self.stops.contains(scalar.value)
                ? 0x2E : Self.wide.contains(scalar.value) ? scalar.value - Self.width : scalar.value
            narrow.append(Unicode.Scalar(value) ?? scalar)
        }
        let address = String(narrow)
        // A text that is not an address is a user name. User names may have these characters.
        return EmailAddress(address) == nil ? String(String.UnicodeScalarView(typed)) : address
    }

    /// Returns whether the scalar is white space, a control character, or without width, such as a byte order mark.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint
            || scalar.properties.generalCategory == .control
    }
}
