internal import Vocabulary

/// The path of the sign-in page, on every host.
package enum SignInPath {
    /// The path of the page and of its form.
    package static let path = "/.sallyport/login"
    /// The query parameter with the path to go to after sign-in.
    package static let returnTo = "return_to"
    /// The query parameter that asks for the password of a user who is already signed in, with the value from OpenID
    /// Connect (Core 3.1.2.1).
    package static let prompt = (name: "prompt", value: "login")

    /// The path of the sign-in page that leads back to `target`, a path and query of the same host.
    ///
    /// - Parameter isAgain: Whether the browser's session is not sufficient; the page then says so.
    package static func leading(to target: some Sequence<UInt8>, isAgain: Bool) -> String {
        var text = Array("\(self.path)?\(self.returnTo)=".utf8)
        // Fully percent-encoded, so that no part of it becomes a parameter of the sign-in page.
        for byte in target {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "/"):
                text.append(byte)
            default:
                Hexadecimal.appendEscape(of: byte, to: &text)
            }
        }
        if isAgain { text += "&\(self.prompt.name)=\(self.prompt.value)".utf8 }
        return String(decoding: text, as: UTF8.self)
    }
}
