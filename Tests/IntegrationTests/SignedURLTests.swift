import Cryptography
import Foundation
import GatewayBench
import Testing
import Vocabulary

/// Apps that verify a signature over the bytes of the query: SAML's redirect binding (saml-bindings-2.0-os 3.4.4.1), and
/// sign-in requests of WS-Federation, whose `wctx` comes back byte for byte.
@Suite("Signed URLs through a handoff", .blocking) struct SignedURLTests {
    private static let algorithm = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
    private static let key = PrivateKey.generated(.rsa)

    /// A query that is signed as the redirect binding says: over the octets of these parameters in this order, in the
    /// encoding in which they are sent.
    private static func signed(_ escape: (String) -> String) -> String {
        // DEFLATE leaves bytes that base64 writes with `+`, `/` and `=`; the encoder's letter case is its own.
        let request = Data((0..<255).map { UInt8($0 &* 37 & 0xFF) }).base64EncodedString()
        let message =
            "SAMLRequest=\(escape(request))&RelayState=\(escape("https://sp.example.com/a?b=c&d=%2F é"))"
            + "&SigAlg=\(escape(Self.algorithm))"
        let signature = Data(Self.key.signature(of: Array(message.utf8), by: .rsaPKCS1(.sha256)))
        return "\(message)&Signature=\(escape(signature.base64EncodedString()))"
    }

    /// What the app finds in the target that it received: whether the signature is over its bytes.
    private static func verifies(_ target: String) throws -> Bool {
        let query = String(try #require(target.split(separator: "?", maxSplits: 1).last))
        let parts = query.components(separatedBy: "&Signature=")
        let last = try #require(parts.last)
        let text = try #require(last.prefix { $0 != "&" }.removingPercentEncoding)
        let signature = try #require(Data(base64Encoded: text))
        return Array(parts[0].utf8).withUnsafeBytes { message in
            Self.key.publicKey.verifies(Array(signature)[...], of: message, by: .rsaPKCS1(.sha256))
        }
    }

    /// Three encoders that apps use: all that need not stay is escaped, in either letter case; and as in a form.
    private static let escapes: [@Sendable (String) -> String] = [
        { text in text.utf8.map { Self.escape($0, "%%%02X") }.joined() },
        { text in text.utf8.map { Self.escape($0, "%%%02x") }.joined() },
        { text in text.utf8.map { $0 == 0x20 ? "+" : Self.escape($0, "%%%02X") }.joined() },
    ]

    private static func escape(_ byte: UInt8, _ format: String) -> String {
        let kept =
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || (byte | 0x20) &- 0x61 < 26 || "-_.~".utf8.contains(byte)
        return kept ? String(Unicode.Scalar(byte)) : String(format: format, byte)
    }

    @Test("A SAML request keeps its signature, wherever the token stands, and by cookie", arguments: 0..<3)
    func saml(encoder: Int) throws {
        let query = Self.signed(Self.escapes[encoder])
        #expect(try Self.verifies("/samlp/client?\(query)"))
        #expect(try !Self.verifies("/samlp/client?\(query.replacing("RelayState=h", with: "RelayState=H"))"))
        try Gateway.withApp { gateway, app throws in
            let native = try gateway.native()
            let path = "/samlp/client"
            for (before, after) in [("", "&"), ("&", ""), ("&x=1&", "&y=%20")] {
                let token = "session_transfer_token=\(try gateway.mint(native))"
                let target =
                    before.isEmpty ? "\(path)?\(token)\(after)\(query)" : "\(path)?\(query)\(before)\(token)\(after)"
                let answer = try gateway.get(target)
                let location = try #require(answer.value("location"))
                #expect(answer.status == 303 && location.hasPrefix("\(Request.origin)\(path)?"))
                #expect(!location.contains("session_transfer_token"))
                let rest = String(location.dropFirst(Request.origin.count))
                let cookie = try #require(answer.sessionCookie)
                #expect(try gateway.get(rest, ["Cookie: sallyport=\(cookie)"]).status == 200)
                let received = try #require(app.requests.last?.target)
                #expect(received == rest && received.hasPrefix("\(path)?\(query)"))
                #expect(try Self.verifies(received))
            }
            // As the documentation prints it: in the cookie and in the query at once.
            let token = try gateway.mint(native)
            let answer = try gateway.get(
                "\(path)?\(query)&session_transfer_token=\(token)",
                ["Cookie: session_transfer_token=\(token)"]
            )
            #expect(answer.value("location") == "\(Request.origin)\(path)?\(query)")
            #expect(answer.sessionCookie?.isEmpty == false)
            #expect(app.requests.allSatisfy { !$0.text.contains("spt_") })
        }
    }

    @Test("A sign-in request of WS-Federation reaches the app byte for byte")
    func federation() throws {
        try Gateway.withApp { gateway, app throws in
            let target =
                "/wsfed/client?wa=wsignin1.0&wtrealm=urn%3asp%3Aexample&wctx=rm%3d0%26id%3dpassive%26ru%3d%252fa%252F"
                + "&wct=2026-11-24T00%3A00%3A00Z&wreply=https://sp.example.com/"
            let answer = try gateway.get("\(target)&session_transfer_token=\(try gateway.transferToken())")
            #expect(answer.value("location") == Request.origin + target)
            let cookie = try #require(answer.sessionCookie)
            #expect(try gateway.get(target, ["Cookie: sallyport=\(cookie)"]).status == 200)
            #expect(app.requests.last?.target == target)
        }
    }
}
