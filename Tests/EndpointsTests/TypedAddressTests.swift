import Endpoints
import Testing

@Suite("The address that a user types")
struct TypedAddressTests {
    @Test(
        "What cannot be seen at its ends is left out, and full-width forms of an address are ASCII",
        arguments: [
            ("ada@example.com", "ada@example.com"), (" \t\r\nada@example.com \u{85}", "ada@example.com"),
            ("\u{A0}ada@example.com\u{3000}", "ada@example.com"),
            ("\u{FEFF}\u{200B}ada@example.com\u{200E}", "ada@example.com"),
            ("\u{202A}ada@example.com\u{202C}", "ada@example.com"),
            ("\u{2066}ada@example.com\u{2069}\u{AD}", "ada@example.com"),
            ("ada\u{FF20}example\u{3002}com", "ada@example.com"),
            ("\u{FF41}\u{FF44}\u{FF41}\u{FF20}example\u{FF0E}com", "ada@example.com"),
            ("a da", "a da"), ("\u{FF41}\u{FF44}\u{FF41}", "\u{FF41}\u{FF44}\u{FF41}"),
            ("ada@b\u{200D}c.example", "ada@b\u{200D}c.example"), ("", ""), (" \u{200B}\u{A0}", ""),
            // A mark that combines with the blank before it is no blank.
            (" \u{301}a", "\u{301}a"),
        ]
    )
    func meant(text: String, address: String) {
        #expect(TypedAddress.meant(by: text).unicodeScalars.elementsEqual(address.unicodeScalars))
    }
}
