import Foundation
import GatewayBench
import Testing

/// A transfer token is bound to the device that asked for it (T1, T15 to T18).
@Suite("Binding of a handoff", .blocking) struct HandoffBindingTests {
    @Test("T1: from another address the token does not sign in and is burned; the log names both addresses")
    func otherAddress() throws {
        try Gateway.withApp { gateway, _ throws in
            let token = try gateway.transferToken()
            let stolen = try gateway.get("/?session_transfer_token=\(token)", from: "127.0.0.2")
            #expect(stolen.status == 303 && stolen.sessionCookie == nil)
            #expect(try gateway.get("/?session_transfer_token=\(token)").sessionCookie == nil, "burned")
            #expect(eventually { gateway.output.contains("binding.ip_mismatch") })
            let line = gateway.output.split(separator: "\n").first {
                $0.contains("binding.ip_mismatch") && $0.contains("127.0.0.2")
            }
            #expect(line?.contains("127.0.0.1") == true, "\(line ?? "no line")")
        }
    }

    @Test("With on_mismatch keep the right device can still use the token, and with a dry run any device can")
    func keepAndDryRun() throws {
        for (more, stolenWorks, ownerWorks) in [
            ("on_mismatch: keep", false, true), ("binding_dry_run: true", true, false),
        ] {
            let clients = Config.clients(more: "      \(more)")
            try Gateway.withApp({ Config.file(upstream: $0, clients: clients) }) { gateway, _ throws in
                let token = try gateway.transferToken()
                let target = "/?session_transfer_token=\(token)"
                #expect((try gateway.get(target, from: "127.0.0.2").sessionCookie != nil) == stolenWorks, "\(more)")
                #expect((try gateway.get(target).sessionCookie != nil) == ownerWorks, "\(more)")
            }
        }
    }

    @Test(
        "T16, T17: each mode with networks accepts what its name says, and no unknown network",
        arguments: ["asn", "ip_dual_stack", "ip_or_asn"]
    )
    func networks(binding: String) throws {
        let csv = "203.0.113.0/24,64500\n198.51.100.0/24,64501\n2001:db8:1::/48,64500\n2001:db8:2::/48,64501\n"
        let more = "trusted_proxies: [127.0.0.1/32]\nasn:\n  csv: asn.csv\n"
        let settings = { Config.file(upstream: $0, clients: Config.clients(binding: binding), more: more) }
        try Gateway.withApp(settings, files: ["asn.csv": csv]) { gateway, _ throws in
            func attempt(_ minted: String, _ presented: String) throws -> Bool {
                let token = try gateway.mint(gateway.native(), fields: ["X-Forwarded-For: \(minted)"])
                let answer = try gateway.get("/?session_transfer_token=\(token)", ["X-Forwarded-For: \(presented)"])
                #expect(answer.status == 303)
                return answer.sessionCookie?.isEmpty == false
            }
            #expect(try attempt("203.0.113.7", "203.0.113.7"))
            #expect(try attempt("203.0.113.7", "2001:db8:1::7"), "the family changed, the network did not")
            #expect(try attempt("2001:db8:1::7", "203.0.113.7"))
            #expect(try !attempt("203.0.113.7", "2001:db8:2::7"))
            #expect(try !attempt("203.0.113.7", "198.51.100.7"))
            // Another address in the carrier's network: from a CGNAT pool or a new /64.
            #expect(try attempt("203.0.113.7", "203.0.113.8") == (binding != "ip_dual_stack"))
            #expect(try attempt("2001:db8:1::7", "2001:db8:1:5::7") == (binding != "ip_dual_stack"))
            #expect(try !attempt("192.0.2.1", "2001:db8:9::1"), "two unknown networks are not the same one")
            #expect(try attempt("192.0.2.1", "192.0.2.1") == (binding != "asn"))
            #expect(try !attempt("203.0.113.7", "2002:cb00:7107::1"), "T18: 6to4 has no network")
        }
    }

    @Test("F28: a table of networks that is damaged or gone leaves the former one in use, and a new one replaces it")
    func damagedTable() throws {
        let table = "203.0.113.0/24,64500\n198.51.100.0/24,64501\n"
        let more = "trusted_proxies: [127.0.0.1/32]\nasn:\n  csv: asn.csv\n"
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port, clients: Config.clients(binding: "asn"), more: more)
        try Gateway.with(settings, files: ["asn.csv": table]) { gateway throws in
            let file = gateway.folder.appending(path: "asn.csv")
            func attempt(_ minted: String, _ presented: String) throws -> Bool {
                let token = try gateway.mint(gateway.native(), fields: ["X-Forwarded-For: \(minted)"])
                let answer = try gateway.get("/?session_transfer_token=\(token)", ["X-Forwarded-For: \(presented)"])
                return answer.sessionCookie?.isEmpty == false
            }
            #expect(try attempt("203.0.113.7", "203.0.113.8"))
            #expect(try !attempt("203.0.113.7", "198.51.100.8"))
            for damaged in ["203.0.113.0/24,64501\nnonsense\n", "\u{0}\u{1}", nil] {
                if let damaged {
                    try damaged.write(to: file, atomically: true, encoding: .utf8)
                } else {
                    try FileManager.default.removeItem(at: file)
                }
                try gateway.reload(settings)
                #expect(try gateway.metric("sallyport_config_last_reload_successful") == 0)
                #expect(try attempt("203.0.113.7", "203.0.113.8"))
                #expect(try !attempt("203.0.113.7", "198.51.100.8"))
            }
            try "203.0.113.0/24,64501\n198.51.100.0/24,64501\n".write(to: file, atomically: true, encoding: .utf8)
            try gateway.reload(settings)
            #expect(try gateway.metric("sallyport_config_last_reload_successful") == 1)
            #expect(try attempt("203.0.113.7", "198.51.100.8"))
        }
    }

    @Test("T15: two spellings of one address are one device, and two clients of one translator are two")
    func spellings() throws {
        try Gateway.withApp({ Config.file(upstream: $0, more: "trusted_proxies: [127.0.0.1/32]\n") }) {
            gateway,
            _ throws in
            for (minted, presented, expected) in [
                ("203.0.113.7", "::ffff:203.0.113.7", true), ("2001:db8::1", "2001:DB8:0:0:ffff::9", true),
                ("2001:db8::1", "2001:db8:0:1::1", false),
                // Behind NAT64 the device is the IPv4 address, not the prefix that all its clients have.
                ("64:ff9b::c000:201", "64:ff9b::cb00:7109", false), ("64:ff9b::c000:201", "192.0.2.1", true),
                ("64:ff9b:1::c000:201", "64:ff9b:1::cb00:7109", false),
                ("2001:0:102:304:0:1234:3fff:fdfe", "2001:0:102:304:0:1234:34ff:8ef6", false),
            ] {
                let token = try gateway.mint(gateway.native(), fields: ["X-Forwarded-For: \(minted)"])
                let answer = try gateway.get("/?session_transfer_token=\(token)", ["X-Forwarded-For: \(presented)"])
                #expect((answer.sessionCookie != nil) == expected, "\(minted) \(presented)")
            }
        }
    }

    @Test("T17: a gateway with a client that needs networks does not start without any")
    func missingNetworks() throws {
        #expect(throws: BenchFailure.self) {
            try Gateway(Config.file(upstream: 1, clients: Config.clients(binding: "asn"))).stop()
        }
        #expect(throws: BenchFailure.self) {
            let settings = Config.file(
                upstream: 1,
                clients: Config.clients(binding: "asn"),
                more: "asn:\n  csv: asn.csv\n"
            )
            try Gateway(settings, files: ["asn.csv": "nonsense\n"]).stop()
        }
    }

    @Test("A live session with ip_or_asn can be used from all networks of its carrier and from no others")
    func liveNetworkBinding() throws {
        let routes = "  - path: /**\n    binding: ip_or_asn\n"
        let more = "trusted_proxies: [127.0.0.1/32]\nasn:\n  csv: asn.csv\n"
        let csv = "203.0.113.0/24,64500\n198.51.100.0/24,64501\n2001:db8:1::/48,64500\n"
        let settings = { Config.file(upstream: $0, routes: routes, more: more) }
        try Gateway.withApp(settings, files: ["asn.csv": csv]) { gateway, _ throws in
            let token = "Authorization: Bearer \(try gateway.native(fields: ["X-Forwarded-For: 203.0.113.7"]))"
            for address in ["203.0.113.7", "203.0.113.99", "2001:db8:1:2::3"] {
                #expect(try gateway.get("/", [token, "X-Forwarded-For: \(address)"]).status == 200, "\(address)")
            }
            for (address, reason) in [
                ("198.51.100.7", "binding.asn_mismatch"), ("192.0.2.1", "binding.asn_unknown"),
            ] {
                let refused = try gateway.get("/", [token, "X-Forwarded-For: \(address)"])
                #expect(refused.status == 401 && refused.reason == reason, "\(address): \(refused.lines)")
            }
        }
    }

    @Test("A live session with a binding is refused from another device")
    func liveBinding() throws {
        let routes = "  - path: /**\n    client: web\n    binding: ip\n"
        try Gateway.withApp({ Config.file(upstream: $0, routes: routes) }) { gateway, _ throws in
            let cookie = try #require(
                try gateway.get("/?session_transfer_token=\(try gateway.transferToken())").sessionCookie
            )
            #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status == 200)
            let stolen = try gateway.get("/", ["Cookie: sallyport=\(cookie)"], from: "127.0.0.2")
            #expect(stolen.status == 401 || stolen.status == 403)
            #expect(stolen.reason == "binding.ip_mismatch")
        }
    }

    @Test(
        "From another device, a live binding asks for a sign-in, ends the session as well, or only logs",
        arguments: ["reauthenticate", "end_session", "log"]
    )
    func liveAction(action: String) throws {
        let routes = "  - path: /**\n    client: web\n    binding: ip\n    binding_action: \(action)\n"
        try Gateway.withApp({ Config.file(upstream: $0, routes: routes) }) { gateway, _ throws in
            let cookie = ["Cookie: sallyport=\(try gateway.browser())"]
            let token = ["Authorization: Bearer \(try gateway.native())"]
            for credential in [cookie, token] {
                let other = try gateway.get("/", credential, from: "127.0.0.2")
                if action == "log" { _ = try gateway.get("/", credential, from: "127.0.0.2") }
                #expect(other.status == (action == "log" ? 200 : 401), "\(other.lines)")
                let clears = action == "end_session" && credential == cookie
                #expect(other.sessionCookie == (clears ? "" : nil), "\(other.lines)")
                let status = action == "end_session" ? 401 : 200
                #expect(eventually { (try? gateway.get("/", credential).status) == status }, "\(action)")
            }
            let isDryRun = action == "log"
            let counted = try gateway.metric(#"sallyport_binding_would_reject_total{mode="ip",source="session"}"#)
            // Once for each session, not for each request.
            #expect(counted == (isDryRun ? 2 : 0))
            #expect(eventually { gateway.output.contains(#""event":"binding.mismatch""#) })
            let line = gateway.output.split(separator: "\n").first { $0.contains("binding.mismatch") }
            #expect(line?.contains(#""dry_run":"true""#) == isDryRun, "\(line ?? "no line")")
            if isDryRun { #expect(eventually { gateway.output.contains(#""binding":"ip/dry_run""#) }) }
        }
    }

    @Test("A dry run of a handoff's binding counts what it would have rejected")
    func wouldReject() throws {
        let clients = Config.clients(more: "      binding_dry_run: true")
        try Gateway.withApp({ Config.file(upstream: $0, clients: clients) }) { gateway, _ throws in
            for address in ["127.0.0.1", "127.0.0.2"] {
                let target = "/?session_transfer_token=\(try gateway.transferToken())"
                #expect(try gateway.get(target, from: address).sessionCookie != nil)
            }
            #expect(try gateway.metric(#"sallyport_binding_would_reject_total{mode="ip",source="token"}"#) == 1)
        }
    }
}
