import Foundation
import GatewayBench
import Testing

/// What phones and password managers ask a site for, through a gateway with two hosts of which one answers for apps. Nobody
/// of them has a session.
@Suite("Well-known documents for phones and password managers", .blocking)
struct WellKnownTests {
    private static let apple = "/.well-known/apple-app-site-association"
    private static let android = "/.well-known/assetlinks.json"
    private static let password = "/.well-known/change-password"
    private static let fingerprint =
        "14:6D:E9:83:C5:73:06:50:D8:EE:B9:95:2F:34:FC:64"
        + ":16:A0:83:42:E6:1D:BE:A8:8A:04:96:B2:3F:CF:44:E5"

    /// - Parameter route: Who may open the pages of the other host.
    private static func with(
        route: String = "{path: /**}",
        _ body: (Gateway, FakeUpstream, _ settings: String) throws -> Void
    ) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = """
            listen: 127.0.0.1:0
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(app.port)
            hosts:
              - public_url: https://app.example.com
                endpoints: true
                well_known: true
                routes: [{path: /**}]
              - public_url: https://shop.example.com
                well_known: true
                routes: [{path: /**}]
              - public_url: https://other.example.com
                routes: [\(route)]
            clients:
              - client_id: phone
                app_type: native
                callbacks: ["https://app.example.com/signed-in?from=phone", "com.example.app:/signed-in"]
                ios_app_ids: [ABCDE12345.com.example.app]
                android_apps: [{package: com.example.app, sha256_cert_fingerprints: ["\(Self.fingerprint)"]}]
              - client_id: shop
                app_type: native
                callbacks: ["https://shop.example.com/back"]
                ios_app_ids: [ABCDE12345.com.example.shop]
                android_apps: [{package: com.example.shop, sha256_cert_fingerprints: ["\(Self.fingerprint)"]}]
            pages: {change_password_url: "https://id.example.com/password?from=manager"}
            provider:
              static:
                users:
            \(Config.users)
            drain: {delay: 0s, timeout: 100ms}

            """
        try Gateway.with(settings) { try body($0, app, settings) }
    }

    private static func ask(_ gateway: Gateway, _ host: String, _ path: String, _ method: String = "GET") throws
        -> Answer
    {
        // As Apple's and Google's servers and password managers do: no page is loaded.
        try Wire(to: gateway.port).request(
            "\(method) \(path) HTTP/1.1\r\nHost: \(host).example.com\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        )
    }

    private static func document(_ answer: Answer) throws -> NSObject {
        #expect(answer.status == 200 && answer.value("content-type") == "application/json", "\(answer.lines)")
        #expect(answer.value("content-length") == "\(answer.body.count)")
        let object = try JSONSerialization.jsonObject(with: Data(answer.body))
        return try #require(object as? NSObject)
    }

    /// The document as Apple reads it.
    private static func appleDocument(_ app: String, _ path: String) -> NSObject {
        [
            "applinks": ["details": [["appIDs": [app], "components": [["/": path]]]]],
            "webcredentials": ["apps": [app]],
        ] as NSDictionary
    }

    @Test("Each host names the apps that may take its own callbacks, without a session, and the app is not asked")
    func apps() throws {
        try Self.with { gateway, app, _ throws in
            for (host, name, path) in [("app", "app", "/signed-in"), ("shop", "shop", "/back")] {
                let apple = try Self.document(try Self.ask(gateway, host, Self.apple))
                #expect(apple == Self.appleDocument("ABCDE12345.com.example.\(name)", path), "\(apple)")
                let answer = try Self.ask(gateway, host, Self.android)
                let links = try #require(try Self.document(answer) as? [[String: Any]])
                try #require(links.count == 1, "\(links)")
                #expect(links[0]["relation"] as? [String] == ["delegate_permission/common.handle_all_urls"])
                let target = try #require(links[0]["target"] as? [String: Any])
                #expect(target["namespace"] as? String == "android_app")
                #expect(target["package_name"] as? String == "com.example.\(name)")
                #expect(target["sha256_cert_fingerprints"] as? [String] == [Self.fingerprint])
                #expect(answer.value("cache-control") == "public, max-age=3600" && answer.values("set-cookie").isEmpty)
            }
            let head = try Self.ask(gateway, "app", Self.apple, "HEAD")
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(head.value("content-length") == (try Self.ask(gateway, "app", Self.apple)).value("content-length"))
            #expect(try Self.ask(gateway, "app", Self.apple, "POST").status == 405)
            #expect(app.requests.isEmpty)
        }
    }

    @Test("A host that does not answer for apps leaves the paths to its app, behind what they need")
    func left() throws {
        try Self.with { gateway, app, _ throws in
            for path in [Self.apple, Self.android] {
                #expect(try Self.ask(gateway, "other", path).status == 401)
            }
            #expect(app.requests.isEmpty)
        }
        try Self.with(route: "{path: /**, auth: public}") { gateway, app, _ throws in
            for path in [Self.apple, Self.android] {
                #expect(try Self.ask(gateway, "other", path).status == 200)
                #expect(app.requests.last?.target == path)
            }
        }
    }

    @Test("A reload takes the apps that the clients have now")
    func reload() throws {
        try Self.with { gateway, _, settings throws in
            let before = try Self.document(try Self.ask(gateway, "app", Self.apple))
            try gateway.reload(settings.replacing("ABCDE12345.com.example.app", with: "ABCDE12345.com.example.next"))
            let after = try Self.document(try Self.ask(gateway, "app", Self.apple))
            #expect(before != after)
            #expect(after == Self.appleDocument("ABCDE12345.com.example.next", "/signed-in"), "\(after)")
        }
    }

    @Test("Password managers are led to the page where passwords are changed, from every host and without a session")
    func passwordChange() throws {
        try Self.with { gateway, app, settings throws in
            for host in ["app", "shop", "other"] {
                for method in ["GET", "HEAD"] {
                    let answer = try Self.ask(gateway, host, Self.password, method)
                    #expect(answer.status == 303, "\(answer.lines)")
                    #expect(answer.value("location") == "https://id.example.com/password?from=manager")
                    #expect(answer.values("set-cookie").isEmpty)
                }
                // By this managers tell whether a site answers 200 to everything (W3C A Well-Known URL for Changing Passwords).
                let unknown = "/.well-known/resource-that-should-not-exist-whose-status-code-should-not-be-200"
                #expect(try Self.ask(gateway, host, unknown).status == 401)
            }
            #expect(app.requests.isEmpty)
            let line = try #require(settings.split(separator: "\n").first { $0.hasPrefix("pages:") })
            try gateway.reload(settings.replacing(line + "\n", with: ""))
            #expect(try Self.ask(gateway, "app", Self.password).status == 401)
        }
    }
}
