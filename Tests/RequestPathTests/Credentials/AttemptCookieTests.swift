import RequestPath
import Sessions
import SignOn
import Testing
import Vocabulary

@Suite("The attempt cookie")
struct AttemptCookieTests {
    private func parts(_ value: String) -> (secret: String, token: String?, confirmed: ConfirmedToken?) {
        Array("Cookie: \(value)".utf8).withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return ("", nil, nil) }
            let parts = AttemptCookie.parts(of: Slice(8, bytes.count - 8), base)
            func text(_ slice: Slice) -> String { String(decoding: slice.bytes(in: base), as: UTF8.self) }
            return (text(parts.secret), parts.token.map(text), parts.confirmed?.copy(base))
        }
    }

    @Test("The cookie contains the secret of an attempt, and the token that was taken out of the URL")
    func parts() {
        let secret = AttemptSecret()
        let text = String(decoding: secret.value.bytes, as: UTF8.self)
        #expect(self.parts(text) == (text, nil, nil))
        let token = "spt_" + String(repeating: "a", count: 55)
        let value = String(decoding: AttemptCookie.value(secret, moving: Array(token.utf8)).bytes, as: UTF8.self)
        #expect(self.parts(value) == (text, token, nil))
    }

    @Test("It says where a token was that the user has confirmed; another text there is not the gateway's")
    func confirmed() {
        let secret = AttemptSecret()
        let text = String(decoding: secret.value.bytes, as: UTF8.self)
        let token = "spt_" + String(repeating: "a", count: 55)
        for transport in HandoffTransport.allCases {
            let confirmed = ConfirmedToken(transport: transport, mark: Array("proof".utf8))
            let value = AttemptCookie.value(secret, moving: Array(token.utf8), confirmed: confirmed)
            #expect(self.parts(String(decoding: value.bytes, as: UTF8.self)) == (text, token, confirmed))
        }
        for mark in ["", "x", "cookie", "x.m", "Cookie.m"] {
            #expect(self.parts("\(text).\(token).\(mark)") == (text, nil, nil), "\(mark)")
        }
    }

    @Test(
        "A token with other bytes or of the wrong length is neither written nor read",
        arguments: ["", "a;b", "a b", "a=b", "a.b", "a,b", "a\"", "%41", String(repeating: "a", count: 60)]
    )
    func otherBytes(token: String) {
        #expect(self.parts("secret.\(token)") == ("secret", nil, nil))
        #expect(!AttemptCookie.canHold(Array(token.utf8)))
    }
}
