import Foundation
import GatewayBench
import Testing

@Suite("A client that was deleted", .blocking)
struct DeletedClientTests {
    /// Expects that what is the client's is refused, and that nothing of the user's is.
    private func expectRefused(_ belongings: Belongings, _ stream: Wire, _ gateway: Gateway, _ error: String) throws {
        stream.expectEnd()
        let route = try gateway.get("/", ["Authorization: Bearer \(belongings.access)"])
        #expect(route.status == 401 && route.reason == "session.client_gone", "\(route.lines)")
        try belongings.expectTokensRefused(gateway, error, refresh: 400)
        #expect(try gateway.get("/sessions/whoami", ["X-Session-Token: \(belongings.native)"]).status == 200)
        #expect(try gateway.get("/sessions/whoami", ["Cookie: sallyport=\(belongings.cookie)"]).status == 200)
    }

    /// What a client has, all of it in use.
    private func inUse(_ gateway: Gateway) throws -> (Belongings, Wire) {
        let belongings = try Belongings(gateway)
        let field = "Authorization: Bearer \(belongings.access)"
        #expect(try belongings.isActive(belongings.access, gateway))
        #expect(try gateway.get("/userinfo", [field]).status == 200)
        return (belongings, try Belongings.stream(gateway, field))
    }

    private static let again = """
        {"client_id": "app", "app_type": "native", "callbacks": ["com.example.app:/callback"],
         "session_transfer": {"can_create_session_transfer_token": true}}
        """

    @Test("its tokens, codes, families and streams end at once; another one with its id does not get them back")
    func deleted() throws {
        try Belongings.withGateway { gateway, _ in
            let (belongings, stream) = try self.inUse(gateway)
            let all = OperatorTokens.all
            #expect(try gateway.operate("DELETE", "/api/v2/clients/app", token: all).status == 204)
            try self.expectRefused(belongings, stream, gateway, "invalid_client")
            let made = try gateway.operate("POST", "/api/v2/clients", token: all, json: Self.again)
            #expect(made.status == 201, "\(made.text)")
            try self.expectRefused(belongings, stream, gateway, "invalid_grant")
            _ = try self.inUse(gateway)
        }
    }

    @Test("one that leaves the file at a reload loses them too, also if it comes back; other changes end nothing")
    func left() throws {
        try Belongings.withGateway { gateway, settings in
            let (belongings, stream) = try self.inUse(gateway)
            let kept = settings.replacing(
                "client_id: app\n",
                with: "client_id: app\n    initiate_login_uri: https://app.example.com/\n"
            )
            try gateway.reload(kept)
            #expect(try belongings.isActive(belongings.access, gateway))
            try gateway.reload(settings.replacing("client_id: app\n", with: "client_id: other\n"))
            try self.expectRefused(belongings, stream, gateway, "invalid_client")
            try gateway.reload(settings)
            try self.expectRefused(belongings, stream, gateway, "invalid_grant")
            _ = try self.inUse(gateway)
        }
    }

    @Test("one that may create no more session-transfer tokens loses those that it has")
    func permission() throws {
        try Belongings.withGateway { gateway, _ in
            let belongings = try Belongings(gateway)
            let patch = #"{"session_transfer": {"can_create_session_transfer_token": false}}"#
            let changed = try gateway.operate(
                "PATCH",
                "/api/v2/clients/app",
                token: OperatorTokens.all,
                json: patch
            )
            #expect(changed.status == 200)
            let handoff = try gateway.get("/?session_transfer_token=\(belongings.transfer)")
            #expect(handoff.value("set-cookie")?.contains("sps_") != true && handoff.status == 303, "\(handoff.lines)")
            #expect(eventually { gateway.output.contains(#""reason":"handoff.not_permitted""#) })
            #expect(try belongings.isActive(belongings.access, gateway))
        }
    }
}
