import Vocabulary

/// Reads a typed or pasted address as the user means it. The result only selects where the user signs in.
package enum TypedAddress {
    /// The difference between a full-width character and its ASCII form.
    private static let width: UInt32 = 0xFEE0
    private static let wide: ClosedRange<UInt32> = 0xFF01...0xFF5E
    /// The full stops of input methods. Host names treat them as dots (UTS #46 2.3).
    private static let stops: Set<UInt32> = [0x3002, 0xFF0E, 0xFF61]

    /// Returns the text without invisible characters at its ends. Full-width characters of an address become ASCII.
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
        // If the text is not an address, it is a user name, and may contain full-width characters.
        return EmailAddress(address) == nil ? String(String.UnicodeScalarView(typed)) : address
    }

    /// Returns whether the scalar is white space, a control character, or invisible, e.g. a byte order mark.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint
            || scalar.properties.generalCategory == .control
    }
}
