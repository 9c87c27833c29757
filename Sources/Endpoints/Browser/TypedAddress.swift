import Vocabulary

/// What a user means who types or pastes an address. It decides where the user signs in and nothing else.
package enum TypedAddress {
    /// What full-width forms of ASCII stand behind their ASCII.
    private static let width: UInt32 = 0xFEE0
    private static let wide: ClosedRange<UInt32> = 0xFF01...0xFF5E
    /// Stops that input methods write, which count as dots in names of hosts (UTS #46 2.3).
    private static let stops: Set<UInt32> = [0x3002, 0xFF0E, 0xFF61]

    /// The text without what cannot be seen at its ends, and an address in the full-width forms of an input method in ASCII.
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
        // Whatever is no address is the name of a user, who may be called so.
        return EmailAddress(address) == nil ? String(String.UnicodeScalarView(typed)) : address
    }

    /// Blanks, controls, and what has no width, such as a byte order mark and the marks of writing directions.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint
            || scalar.properties.generalCategory == .control
    }
}
