import Cryptography
import Endpoints
import JOSE
import RequestPath
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

/// Requests with access tokens that are bound to keys (RFC 9449 7), step by step.
@Suite("Proofs on routes") struct ProofStepTests {
    private static let maker = DPoPProofMaker(.generated(.es256))

    private static func bench(_ routes: [RouteSettings]? = nil) throws -> JudgeBench {
        var api = route("/**", .required)
        api.apiAudiences = ["https://api.example.com"]
        return try JudgeBench(routes ?? [api])
    }

    /// A live access token that is bound to the key, or to none.
    private static func live(
        _ bench: JudgeBench,
        isBound: Bool = true
    ) throws -> (token: String, session: CachedSession) {
        try bench.live(.native) {
            $0.access = AccessTerms(audience: "https://api.example.com")
            $0.keyThumbprint = isBound ? Self.maker.thumbprint : nil
        }
    }

    private static func proof(
        _ token: String,
        method: String = "GET",
        url: String = "https://app.example.com/x",
        by maker: DPoPProofMaker = maker
    ) -> String {
        maker.proof(method: method, url: url, accessToken: Secret(token), at: JudgeBench.now)
    }

    @Test("A bound token waits for its proof to be remembered, then goes through, and brings a nonce")
    func accepted() throws {
        let bench = try Self.bench()
        let (token, session) = try Self.live(bench)
        let request = JudgedRequest(
            bench,
            "GET",
            "/x?y=1",
            ["Authorization: DPoP \(token)", "DPoP: \(Self.proof(token))"]
        )
        #expect(try request.begin() == .ask(.native, .request))
        #expect(try request.found(session) == .redeem(Self.maker.thumbprint))
        #expect(try request.redeemed(nil) == .ask(.native, .proof))
        #expect(try request.found(session) == .permitted(route: "/**", subject: "ada"))
        #expect(request.values("DPoP-Nonce").count == 1)
    }

    @Test("A session that ends while its proof is remembered lets nothing through")
    func endedMeanwhile() throws {
        let bench = try Self.bench()
        let (token, session) = try Self.live(bench)
        let fields = ["Authorization: DPoP \(token)", "DPoP: \(Self.proof(token))"]
        let request = JudgedRequest(bench, "GET", "/x", fields)
        _ = try request.begin()
        _ = try request.found(session)
        #expect(try request.redeemed(nil) == .ask(.native, .proof))
        #expect(try request.found(nil) == .answer(401, .sessionUnknown))
    }

    @Test("F30: A replayed proof, and a store that does not answer")
    func notRemembered() throws {
        let bench = try Self.bench()
        let (token, session) = try Self.live(bench)
        func waiting() throws -> JudgedRequest {
            let fields = ["Authorization: DPoP \(token)", "DPoP: \(Self.proof(token))"]
            let request = JudgedRequest(bench, "GET", "/x", fields)
            _ = try request.begin()
            #expect(try request.found(session) == .redeem(Self.maker.thumbprint))
            return request
        }
        let replayed = try waiting()
        #expect(try replayed.redeemed(.replayed) == .answer(401, .proofReplayed))
        #expect(try waiting().unavailable() == .answer(503, .storeUnavailable))
    }

    @Test("Whoever has the token without its key gets a challenge of the scheme DPoP, and the theft is audited")
    func refused() throws {
        let bench = try Self.bench()
        let (token, session) = try Self.live(bench)
        let proof = "DPoP: \(Self.proof(token))"
        let other = DPoPProofMaker(.generated(.es256))
        let cases: [(fields: [String], reason: Reason, error: String)] = [
            (["Authorization: Bearer \(token)"], .credentialBoundToKey, "invalid_token"),
            (["Authorization: Bearer \(token)", proof], .credentialBoundToKey, "invalid_token"),
            (["X-Session-Token: \(token)", proof], .credentialBoundToKey, "invalid_token"),
            (["Authorization: DPoP \(token)"], .proofMissing, "invalid_dpop_proof"),
            (["Authorization: dpop \(token)", "DPoP: x"], .proofInvalid, "invalid_dpop_proof"),
            (
                ["Authorization: DPoP \(token)", "DPoP: \(Self.proof(token, by: other))"], .proofOtherKey,
                "invalid_token"
            ),
            (
                ["Authorization: DPoP \(token)", "DPoP: \(Self.proof(token, method: "POST"))"], .proofInvalid,
                "invalid_dpop_proof"
            ),
            (
                ["Authorization: DPoP \(token)", "DPoP: \(Self.proof(token, url: "https://evil.example.com/x"))"],
                .proofInvalid, "invalid_dpop_proof"
            ),
            (
                ["Authorization: DPoP \(token)", "DPoP: \(Self.proof("spa_another"))"], .proofInvalid,
                "invalid_dpop_proof"
            ),
        ]
        for (fields, reason, error) in cases {
            let request = JudgedRequest(bench, "GET", "/x", fields)
            #expect(try request.begin() == .ask(.native, .request))
            #expect(try request.found(session) == .answer(401, reason), "\(fields)")
            let challenges = request.values("WWW-Authenticate")
            #expect(challenges.count == 1 && challenges[0].hasPrefix("DPoP error=\"\(error)\", "), "\(challenges)")
            let isTheft = [.credentialBoundToKey, .proofOtherKey].contains(reason)
            #expect(request.judge.findings.events.isEmpty != isTheft, "\(reason)")
        }
    }

    @Test("A token that is bound to no key is a bearer token: as DPoP it is refused, a proof beside it is ignored")
    func bearer() throws {
        let bench = try Self.bench()
        let (token, session) = try Self.live(bench, isBound: false)
        let proof = "DPoP: \(Self.proof(token))"
        let bearer = JudgedRequest(bench, "GET", "/x", ["Authorization: Bearer \(token)", proof])
        _ = try bearer.begin()
        #expect(try bearer.found(session) == .permitted(route: "/**", subject: "ada"))
        let (native, plain) = try bench.live(.native)
        for (token, session) in [(token, session), (native, plain)] {
            let request = JudgedRequest(bench, "GET", "/x", ["Authorization: DPoP \(token)", proof])
            _ = try request.begin()
            #expect(try request.found(session) == .answer(401, .credentialNotBound))
        }
    }

    @Test("Both schemes in one request are 400")
    func bothSchemes() throws {
        let bench = try Self.bench()
        let (token, _) = try Self.live(bench)
        let fields = ["Authorization: DPoP \(token)", "X-Session-Token: \(token)"]
        #expect(try JudgedRequest(bench, "GET", "/x", fields).begin() == .answer(400, .credentialRepeated))
    }

    @Test("A wrong clock, or a store that may have forgotten: the answer asks for a nonce, which scripts may read")
    func nonceNeeded() throws {
        var cors = CORSSettings()
        cors.origins = ["https://spa.example.com"]
        var api = route("/**", .required)
        api.apiAudiences = ["https://api.example.com"]
        api.cors = cors
        let bench = try Self.bench([api])
        let (token, session) = try Self.live(bench)
        bench.onces.script.memory = OnceMemory(epoch: 2, since: JudgeBench.now)
        let origin = "Origin: https://spa.example.com"
        let request = JudgedRequest(
            bench,
            "GET",
            "/x",
            ["Authorization: DPoP \(token)", "DPoP: \(Self.proof(token))", origin]
        )
        _ = try request.begin()
        #expect(try request.found(session) == .answer(401, .proofNonceNeeded))
        #expect(request.values("WWW-Authenticate").first?.hasPrefix(#"DPoP error="use_dpop_nonce", "#) == true)
        #expect(request.values("Access-Control-Expose-Headers").joined(separator: ", ").contains("DPoP-Nonce"))
        let nonce = try #require(request.values("DPoP-Nonce").first)
        let proof = Self.maker.proof(
            method: "GET",
            url: "https://app.example.com/x",
            accessToken: Secret(token),
            nonce: nonce,
            at: UnixTime(seconds: 0)
        )
        let again = JudgedRequest(bench, "GET", "/x", ["Authorization: DPoP \(token)", "DPoP: \(proof)", origin])
        _ = try again.begin()
        #expect(try again.found(session) == .redeem(Self.maker.thumbprint))
        #expect(try again.redeemed(nil) == .ask(.native, .proof))
        #expect(try again.found(session) == .permitted(route: "/**", subject: "ada"))
        #expect(again.values("DPoP-Nonce").isEmpty)
    }

    @Test("On a public route nothing is judged; on an optional one a bound token is")
    func otherRoutes() throws {
        var optional = route("/x", .optional)
        optional.apiAudiences = ["https://api.example.com"]
        let bench = try Self.bench([route("/public", .public), optional])
        let (token, session) = try Self.live(bench)
        let fields = ["Authorization: DPoP \(token)"]
        let isPublic = JudgedRequest(bench, "GET", "/public", fields)
        #expect(try isPublic.begin() == .permitted(route: "/public", subject: nil))
        let isOptional = JudgedRequest(bench, "GET", "/x", fields)
        _ = try isOptional.begin()
        #expect(try isOptional.found(session) == .answer(401, .proofMissing))
    }
}
