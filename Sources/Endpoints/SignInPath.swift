internal import Vocabulary

/// Where a browser signs in, on every host.
package enum SignInPath {
    /// The path of the page and of its form.
    package static let path = "/.sallyport/login"
    /// The query parameter with the path that follows.
    package static let returnTo = "return_to"
    /// The query parameter that asks for the password of a user who is signed in already, with the value that OpenID
    /// Connect gives it (Core 3.1.2.1).
    package static let prompt = (name: "prompt", value: "login")

    /// The path of the page that leads back to `target`, a path and query of the same host.
    ///
    /// - Parameter isAgain: The session that the browser has does not suffice: the page says so.
    package static func leading(to target: some Sequence<UInt8>, isAgain: Bool) -> String {
        var text = Array("\(self.path)?\(self.returnTo)=".utf8)
        // Percent-encoded whole, so that nothing of it is a parameter of the sign-in page.
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
