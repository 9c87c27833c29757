import GatewayBench
import Testing

/// `Strict-Transport-Security` on the wire.
@Suite("A host with strict transport security", .blocking) struct StrictTransportTests {
    @Test("The app's own field is replaced, and passed on where the key is not set", arguments: [true, false])
    func field(isSet: Bool) throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in link.answer("200 OK", "Strict-Transport-Security: max-age=1\r\n")
            }
        )
        defer { app.stop() }
        let settings = Config.file(
            upstream: app.port,
            publicURL: "https://\(Request.host)",
            more: isSet ? "strict_transport_security: {max_age: 1d, include_subdomains: true}\n" : ""
        )
        try Gateway.with(settings) { gateway throws in
            let passed = try gateway.get("/public/")
            let own = try gateway.get("/page", ["Accept: application/json"])
            #expect(passed.status == 200 && own.status == 401)
            let value = "max-age=86400; includeSubDomains"
            #expect(passed.values("strict-transport-security") == [isSet ? value : "max-age=1"])
            #expect(own.values("strict-transport-security") == (isSet ? [value] : []))
        }
    }
}

/// `redirect_http` of the built binary.
@Suite("The listener for plain http", .blocking) struct RedirectTests {
    @Test("It sends clients to https and keeps the connection, also behind a proxy that names them")
    func redirects() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        for proxies in ["", ", proxy_protocol: {from: [127.0.0.1]}"] {
            let port = try ServerPorts.take()
            let settings = Config.file(
                upstream: app.port,
                publicURL: "https://\(Request.host)",
                more: "log: {access: true}\nredirect_http: {address: \"127.0.0.1:\(port)\"\(proxies)}\n"
            )
            try Gateway.with(settings) { gateway throws in
                let wire = try Wire(to: port)
                if !proxies.isEmpty { wire.send(Header.binary("203.0.113.7")) }
                for target in ["/page?x=1", "/.sallyport/login"] {
                    let answer = try wire.request(Request.get(target, ["Cookie: sallyport=x"]))
                    #expect(answer.status == 308)
                    #expect(answer.value("location") == "https://\(Request.host)\(target)")
                }
                let post = try wire.request(Request.post("/form", body: "a=b"))
                #expect(post.status == 308 && post.value("location") == "https://\(Request.host)/form")
                #expect(app.requests.isEmpty)
                let client = proxies.isEmpty ? "127.0.0.1" : "203.0.113.7"
                #expect(eventually { gateway.output.contains("\"client\":\"\(client)\"") })
                #expect(gateway.output.contains("\"status\":308"))
            }
        }
    }

    @Test("The proof of a certificate's name is fetched by plain http, from a public route that is for it alone")
    func challenges() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let own = "  - path: /.well-known/acme-challenge/*\n    name: proofs\n    auth: public\n"
        let all = "  - path: /.well-known/**\n    name: wide\n    auth: public\n"
        let closed = own.replacing("auth: public", with: "auth: required")
        for (routes, isServed) in [(own, true), (all, false), (closed, false), ("", false)] {
            let port = try ServerPorts.take()
            let settings = Config.file(
                upstream: app.port,
                routes: Config.routes + "\n" + routes,
                publicURL: "https://\(Request.host)",
                more: "redirect_http: 127.0.0.1:\(port)\nstrict_transport_security: {max_age: 1d}\n"
            )
            let before = app.requests.count
            try Gateway.with(settings) { gateway throws in
                let wire = try Wire(to: port)
                let token = "/.well-known/acme-challenge/evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr_oA"
                let proof = try wire.request(Request.get(token, ["Cookie: sallyport=x"]))
                #expect(proof.status == (isServed ? 200 : 308), "\(routes)")
                #expect(proof.values("strict-transport-security").isEmpty)
                #expect(app.requests.count == before + (isServed ? 1 : 0))
                // The connection stays, and everything else goes to https.
                for target in [
                    token + "?x=1", token + "/..", "/.well-known/acme-challenge/", "/.well-known/acme-challenge/%2e%2e",
                    "/.well-known/acme-challenge/a;b", "/.well-known/acme-challenges/a", "/public/",
                ] {
                    let answer = try wire.request(Request.get(target))
                    #expect(answer.status == 308, "\(target)")
                    #expect(answer.value("location") == "https://\(Request.host)\(target)")
                }
                #expect(try wire.request(Request.post(token, body: "a=b")).status == 308)
                #expect(app.requests.count == before + (isServed ? 1 : 0))
            }
        }
    }
}
