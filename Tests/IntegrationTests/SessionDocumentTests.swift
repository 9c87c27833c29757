import Foundation
import GatewayBench
import Testing

/// What an app's scripts learn of the browser's session, and which cookies are the gateway's.
@Suite("Sessions of scripts", .blocking) struct SessionDocumentTests {
    private static let fetch = ["Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Accept: */*"]
    private static let login = "\(Request.origin)/.sallyport/login"

    private struct Document: Decodable {
        struct Identity: Decodable { let external_id: String }

        let expires_at: String
        let idle_expires_at: String
        let login_url: String
        let identity: Identity
    }

    private struct Problem: Decodable {
        let status: Int
        let reason: String
        let login_url: String?
    }

    @Test("The session document says who is signed in, until when, and where to sign in")
    func document() throws {
        try Gateway.withApp({ Config.file(upstream: $0) }) { gateway, _ in
            let token = try gateway.browser()
            let answer = try gateway.get("/.sallyport/session", Self.fetch + ["Cookie: sallyport=\(token)"])
            let document = try JSONDecoder().decode(Document.self, from: Data(answer.body))
            #expect(answer.status == 200 && answer.values("vary") == ["Cookie"])
            #expect(document.identity.external_id == User.ada.id && document.login_url == Self.login)
            let times = [document.idle_expires_at, document.expires_at].compactMap {
                try? Date($0, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
            }
            #expect(times.count == 2 && times[0] < times[1] && times[0] > Date.now)
            #expect(!answer.text.contains(token))
            let none = try gateway.get("/.sallyport/session", Self.fetch)
            let problem = try JSONDecoder().decode(Problem.self, from: Data(none.body))
            #expect(none.status == 401 && problem.reason == "credential.missing" && problem.login_url == Self.login)
        }
    }

    @Test("A script's 401 on any route names the sign-in page; other refusals do not")
    func problems() throws {
        let routes = """
              - path: /**
              - path: /bound/**
                binding: ip
              - path: /admin/**
                require: {groups_any: [nobody]}
              - path: /cross/**
                cors: {origins: ["https://spa.example.com"], credentials: true}
            """
        try Gateway.withApp({ Config.file(upstream: $0, routes: routes) }) { gateway, _ in
            func problem(_ path: String, _ fields: [String] = []) throws -> Problem {
                let answer = try gateway.get(path, Self.fetch + fields)
                #expect(answer.value("content-type") == "application/problem+json")
                return try JSONDecoder().decode(Problem.self, from: Data(answer.body))
            }
            let token = try gateway.browser()
            _ = try gateway.signOut(token)
            for (path, fields) in [
                ("/x?secret=1", []), ("/x", ["Cookie: sallyport=\(token)"]), ("/bound/", ["Authorization: Bearer x"]),
                ("/cross/", ["Origin: https://spa.example.com"]),
            ] as [(String, [String])] {
                let told = try problem(path, fields)
                #expect(told.status == 401 && told.login_url == Self.login, "\(path)")
            }
            let live = "Cookie: sallyport=\(try gateway.browser())"
            let forbidden = try problem("/admin/", [live])
            #expect(forbidden.status == 403 && forbidden.login_url == nil)
            #expect(try problem("/%61dmin/").login_url == nil, "400 path.ambiguous")
        }
    }

    /// T37, T38.
    @Test("No app gets a cookie of the gateway's family, and none can set one", arguments: ["public", "required"])
    func family(auth: String) throws {
        let serve = FakeUpstream.answering { link, _ in
            let fields = ["sallyport-signin-x=evil; Path=/", "own=1", "sallyport=evil"]
            link.answer("200 OK", fields.map { "Set-Cookie: \($0)\r\n" }.joined(), body: "ok")
        }
        let app = try FakeUpstream(serve: serve)
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, routes: "      - {path: /**, auth: \(auth)}")) { gateway in
            let session = try gateway.browser()
            let answer = try gateway.get(
                "/x",
                ["Cookie: a=1; sallyport-signin-abc=sealed; sallyport=\(session); sallyport-recent=1; sallyportx=2"]
            )
            #expect(answer.status == 200 && answer.values("set-cookie") == ["own=1"])
            let received = try #require(app.requests.last)
            #expect(received.lines.contains("Cookie: a=1; sallyportx=2"), "\(received.lines)")
        }
    }
}
