import Foundation
import GatewayBench
import Testing

/// The pages of the running gateway in the browser's language and with the operator's look.
@Suite("Pages in languages and colours", .blocking) struct PageLookTests {
    private static let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-Site: none"]

    @Test(
        "Sign-in page and refusals speak the language that the browser asks for",
        arguments: [
            ("de-AT,de;q=0.9,en;q=0.5", "de", "Passwort"), ("fr", "fr", "Mot de passe"),
            ("es-MX", "es", "para continuar a"),
            ("nl, en-GB;q=0.8", "en", "Password"), ("nl", "en", "Password"), ("", "en", "Password"),
            ("de;q=NaN,*;q=2,;;,", "en", "Password"),
        ]
    )
    func languages(accepted: String, tag: String, word: String) throws {
        try Gateway.withApp({ Config.file(upstream: $0) }) { gateway, _ throws in
            let fields = Self.navigation + ["Accept-Language: \(accepted)"]
            let page = try gateway.get("/.sallyport/login", fields)
            #expect(page.text.contains("<html lang=\"\(tag)\" dir=\"ltr\">") && page.text.contains(word))
            let refusal = try gateway.get("/.sallyport/nothing", fields)
            #expect(refusal.values("content-language") == [tag])
        }
    }

    @Test("A reload takes the operator's name, colour and texts; a fault in them changes nothing")
    func reload() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let texts = folder.appending(path: "pt.yaml")
        try "sign_in.title: Entrar\n".write(to: texts, atomically: true, encoding: .utf8)
        let look = """
            pages:
              name: Example & Co
              colour: "#ffcc00"
              languages: [en, pt]
              templates_dir: \(folder.path)

            """
        try Gateway.withApp({ Config.file(upstream: $0, more: look) }) { gateway, _ throws in
            let fields = Self.navigation + ["Accept-Language: pt-BR"]
            let page = try gateway.get("/.sallyport/login", fields)
            #expect(page.text.contains("<h1>Entrar</h1>") && page.text.contains("Example &amp; Co"))
            #expect(page.text.contains("--accent:#ffcc00") && page.values("content-language") == ["pt"])
            try "sign_in.title: Entre\n".write(to: texts, atomically: true, encoding: .utf8)
            gateway.signal(SIGHUP)
            #expect(eventually { (try? gateway.get("/.sallyport/login", fields))?.text.contains("Entre</h1>") == true })
            try "sign_in.titel: Entra\n".write(to: texts, atomically: true, encoding: .utf8)
            gateway.signal(SIGHUP)
            #expect(eventually { gateway.output.contains("did you mean sign_in.title?") })
            #expect(try gateway.get("/.sallyport/login", fields).text.contains("Entre</h1>"))
        }
    }

    @Test("After a refused token the sign-in page says so, once")
    func notice() throws {
        try Gateway.withApp({ Config.file(upstream: $0) }) { gateway, _ throws in
            let stale = "/?session_transfer_token=\(try gateway.transferToken())"
            #expect(try gateway.get(stale).sessionCookie != nil)
            let answer = try gateway.get(stale, Self.navigation)
            #expect(answer.status == 303 && answer.reason == nil)
            let cookie = try #require(answer.values("set-cookie").first { $0.hasPrefix("sallyport-notice=") })
            #expect(cookie.contains("Max-Age=60"))
            let fields = Self.navigation + ["Cookie: sallyport-notice=1"]
            let page = try gateway.get("/.sallyport/login", fields)
            #expect(page.text.contains(#"role="status">You could not be signed in automatically."#))
            #expect(page.values("set-cookie").contains { $0.hasPrefix("sallyport-notice=;") })
            #expect(try !gateway.get("/.sallyport/login", Self.navigation).text.contains("automatically"))
        }
    }
}
