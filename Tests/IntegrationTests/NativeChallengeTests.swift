import Foundation
import GatewayBench
import Testing

/// What the WebView of a native app gets in place of the sign-in page, and what its page tells the app.
@Suite("The challenge to a native app", .blocking) struct NativeChallengeTests {
    private static let page = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-Site: none"]
    private static let node = "/usr/bin/node"

    @Test("The app that answers it by another token is signed in, and the app behind the gateway sees no announcement")
    func answered() throws {
        try Gateway.withApp({ Config.file(upstream: $0) }) { gateway, app in
            let announced = Self.page + ["Cookie: a=b; sallyport-native=1"]
            let asked = try gateway.get("/hello?a=1", announced)
            #expect(asked.status == 401 && asked.pageReason == "credential.missing", "\(asked.lines)")
            #expect(
                asked.values("www-authenticate")
                    == [#"SessionTransfer realm="\#(Request.origin)", return_to="/hello?a=1""#]
            )
            #expect(asked.values("cache-control") == ["no-store"])
            let token = try gateway.transferToken()
            let cookies = "Cookie: a=b; sallyport-native=1; session_transfer_token=\(token)"
            let signedIn = try gateway.get("/hello?a=1", Self.page + [cookies])
            let session = try #require(signedIn.sessionCookie)
            let fields = ["Cookie: a=b; sallyport-native=1; sallyport=\(session)", "Sallyport-Native: 1"]
            #expect(try gateway.get("/hello?a=1", Self.page + fields).status == 200)
            let seen = try #require(app.requests.last)
            #expect(seen.values("cookie") == ["a=b"] && seen.values("sallyport-native").isEmpty)
            // A browser that does not announce itself goes to the sign-in page.
            #expect(try gateway.get("/hello", Self.page).status == 303)
        }
    }

    @Test("A script gets its problem document with both challenges, which scripts of allowed origins may read")
    func scripts() throws {
        let routes = """
              - path: /**
                client: web
                cors: {origins: ["https://other.example"]}
            """
        try Gateway.withApp({ Config.file(upstream: $0, routes: routes) }) { gateway, _ in
            let fields = ["Sec-Fetch-Mode: cors", "Sallyport-Native: 1", "Origin: https://other.example"]
            let answer = try gateway.get("/api", fields)
            #expect(answer.status == 401 && answer.reason == "credential.missing", "\(answer.lines)")
            #expect(answer.values("www-authenticate").count == 2)
            #expect(answer.value("www-authenticate") == #"Bearer realm="sallyport""#)
            #expect(answer.values("vary").sorted() == ["Cookie, Sallyport-Native", "Origin"])
            #expect(answer.value("access-control-expose-headers")?.contains("WWW-Authenticate") == true)
        }
    }

    /// The globals of a page in each kind of WebView, and what the app hears; nothing where there is no bridge.
    private static let views = [
        "webkit: {messageHandlers: {sallyport: {postMessage: say}}}",
        "sallyport: {postMessage: say}",
        "ReactNativeWebView: {postMessage: say}, webkit: {messageHandlers: {ReactNativeWebView: {}}}",
        "",
    ]

    @Test(
        "The page's script tells the app's bridge where to go, and fails nowhere",
        .enabled(if: FileManager.default.isExecutableFile(atPath: node), "node is not installed"),
        arguments: views
    )
    func bridges(view: String) throws {
        try Gateway.withApp({ Config.file(upstream: $0) }) { gateway, _ in
            let html = try gateway.get("/hello?a='%3C/script%3E&b=\"", Self.page + ["Sallyport-Native: 1"]).text
            let element = try #require(
                html.firstMatch(of: /(?s)<script data-realm="([^"]*)" data-return-to="([^"]*)">(.*?)<\/script>/)
            )
            let target = element.2.replacing("&#39;", with: "'").replacing("&quot;", with: "\"")
                .replacing("&amp;", with: "&")
            #expect(target == "/hello?a='%3C/script%3E&b=\"")
            for (attributes, members) in [
                ([:], [:]), (["acrValues": "aal2", "maxAge": "300"], ["acr_values": "aal2", "max_age": "300"]),
            ] as [([String: String], [String: String])] {
                let data = ["realm": String(element.1), "returnTo": String(target)].merging(attributes) { $1 }
                let json = String(decoding: try JSONSerialization.data(withJSONObject: data), as: UTF8.self)
                let program = """
                    const said = [], say = message => said.push(message);
                    globalThis.document = {currentScript: {dataset: \(json)}};
                    globalThis.window = {\(view)};
                    \(element.3)
                    console.log(JSON.stringify(said.map(text => JSON.parse(text))))
                    """
                let output = try Self.run(program)
                let said = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [[String: String]]
                let message = ["type": "session_transfer", "realm": Request.origin, "return_to": String(target)]
                    .merging(members) { $1 }
                #expect(said == (view.isEmpty ? [] : [message]), "\(output)")
            }
        }
    }

    private static func run(_ program: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: self.node)
        process.arguments = ["-e", program]
        process.standardInput = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}
