import Foundation
import GatewayBench
import Testing

/// What a real browser, which `deploy/test.sh --soak` installs, does with one connection of HTTP/2.
@Suite(
    "HTTP/2 in a real browser",
    .blocking,
    .enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK")
)
struct HTTP2BrowserTests {
    private static let openSocket = """
        heard = ended = '';
        socket = new WebSocket('wss://' + location.host + '/socket');
        socket.onopen = () => socket.send('hello');
        socket.onmessage = message => heard = message.data;
        socket.onclose = event => ended = event.code
        """
    private static let signOut = "fetch('/.sallyport/logout', {method: 'POST'})"

    /// Runs `body` with a gateway that has TLS, and a browser that finds it as app.example.com.
    private static func with(more: String = "", _ body: (Gateway, FakeUpstream, Browser) throws -> Void) throws {
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.certificate("own", for: "DNS:app.example.com")
        let app = try FakeUpstream(serve: SocketApp.serve)
        defer { app.stop() }
        let port = try ServerPorts.take()
        let settings = Config.file(
            upstream: app.port,
            clients: Config.clients(binding: "none"),
            publicURL: "https://app.example.com",
            listen: "[{address: \"127.0.0.1:0\", tls: false}, \"127.0.0.1:\(port)\"]",
            more: """
                log: {access: true}
                tls:
                  certificate_file: \(certificates.path("own.pem"))
                  key_file: \(certificates.path("own.key"))
                \(more)
                """
        )
        try Gateway.with(settings) { gateway throws in
            let browser = try Browser(hosts: ["app.example.com": port])
            defer { browser.close() }
            try browser.call("Security.setIgnoreCertificateErrors", ["ignore": true])
            try body(gateway, app, browser)
        }
    }

    @Test("A user signs in, comes from a native app, and signs out with a WebSocket open, all on one connection")
    func journey() throws {
        try Self.with { gateway, app, browser throws in
            func useSocket(as user: User) throws {
                let text = "document.body.innerText.toLowerCase()"
                try browser.wait(
                    until: "location.pathname === '/page' && \(text).includes('x-auth-subject: \(user.id)')"
                )
                try browser.perform(Self.openSocket)
                try browser.wait(until: "heard === 'hello'")
                try browser.perform(Self.signOut)
                try browser.wait(until: "ended === 1008")
            }
            try browser.visit("https://app.example.com/page")
            try browser.wait(until: "document.querySelector('[name=password]') !== null")
            try browser.perform(
                """
                document.querySelector('[name=identifier]').value = '\(User.ada.identifier)';
                document.querySelector('[name=password]').value = '\(User.ada.password)';
                document.querySelector('[name=password]').form.submit()
                """
            )
            try useSocket(as: .ada)
            let link = try gateway.mint(gateway.native(.grace))
            try browser.visit("https://app.example.com/page?session_transfer_token=\(link)")
            // The browser was Ada's before.
            try browser.wait(until: "location.pathname === '/.sallyport/handoff' && document.readyState === 'complete'")
            try browser.perform("document.querySelector('form').requestSubmit()")
            try useSocket(as: .grace)
            let sockets = app.requests.filter { $0.target == "/socket" }
            #expect(sockets.map { $0.values("x-auth-subject") } == [[User.ada.id], [User.grace.id]])
            #expect(
                eventually {
                    let lines = gateway.output.split(separator: "\n").filter { $0.contains("\"path\":\"/socket\"") }
                    return lines.count == 2 && lines.allSatisfy { $0.contains("\"HTTP/2\"") }
                }
            )
            #expect(try gateway.metric("sallyport_tls_handshakes_total{result=\"ok\"}") <= 2)
        }
    }

    @Test("A page has all its requests answered, though connections end between them") func manyRequests() throws {
        try Self.with(more: "limits: {requests_per_connection: 20}") { gateway, _, browser throws in
            try browser.visit("https://app.example.com/public/")
            try browser.perform(
                """
                answers = '';
                Promise.all(Array.from({length: 200}, (_, index) => fetch('/public/' + index).then(answer => answer.status)))
                    .then(all => answers = all.join(), error => answers = String(error))
                """
            )
            try browser.wait(until: "answers !== ''")
            #expect(try browser.value("answers") == Array(repeating: "200", count: 200).joined(separator: ","))
            #expect(eventually { gateway.output.components(separatedBy: "\"HTTP/2\"").count > 200 })
        }
    }
}
