import Cryptography
import JOSE
import RequestPath
import Sessions
import Settings
import StoreBench
import TestSupport
import Testing
import Vocabulary

/// Requests of clients that have proven a certificate in the TLS handshake, step by step.
@Suite("Certificates of clients")
struct ClientCertificateStepTests {
    private static let maker = DPoPProofMaker(.generated(.es256))

    private static func certificate(_ name: String = "build.example.com") throws -> ClientCertificate {
        let names = [
            (CertificateBytes.dns, name), (CertificateBytes.uri, "spiffe://cluster.local/ns/prod/sa/build"),
        ]
        return try #require(ClientCertificate(der: CertificateBytes("Build, J\u{F6}rg", names: names).der))
    }

    private static func requiring(_ change: (inout CertificateRequirement) -> Void) -> RouteSettings {
        var requirement = CertificateRequirement()
        change(&requirement)
        var settings = route("/**", .required)
        settings.require.clientCertificate = requirement
        return settings
    }

    /// What becomes of a signed-in request with this certificate.
    private static func told(
        _ route: RouteSettings,
        _ certificate: ClientCertificate?,
        _ change: (inout Settings) -> Void = { _ in }
    ) throws -> (told: JudgedRequest.Told, identity: IdentityLines?) {
        let bench = try JudgeBench([route], change)
        let (token, session) = try bench.live()
        let request = JudgedRequest(
            bench,
            "GET",
            "/x",
            ["Cookie: \(bench.cookie())=\(token)"],
            certificate: certificate
        )
        _ = try request.begin()
        return (try request.found(session), request.identity)
    }

    @Test("A route takes only the certificates that it names, whoever is signed in")
    func required() throws {
        let good = try Self.certificate()
        let passed = JudgedRequest.Told.permitted(route: "/**", subject: "ada")
        let refused = JudgedRequest.Told.answer(403, .requireClientCertificate)
        let rows: [(RouteSettings, ClientCertificate?, JudgedRequest.Told)] = [
            (Self.requiring { _ in }, good, passed), (Self.requiring { _ in }, nil, refused),
            (
                Self.requiring {
                    $0.names = ["x.example.com", "BUILD.example.com"].compactMap { CertificateName($0) }
                },
                good, passed
            ),
            (
                Self.requiring {
                    $0.names = ["spiffe://cluster.local/ns/prod/sa/build"].compactMap { CertificateName($0) }
                },
                good, passed
            ),
            (Self.requiring { $0.names = ["example.com"].compactMap { CertificateName($0) } }, good, refused),
            // The common name is no name.
            (Self.requiring { $0.names = ["build"].compactMap { CertificateName($0) } }, good, refused),
            (
                Self.requiring { $0.names = ["build.example.com"].compactMap { CertificateName($0) } },
                try Self.certificate("other.example.com"), refused
            ),
            (Self.requiring { $0.issuer = "CN=Clients,O=Test Authority" }, good, passed),
            (Self.requiring { $0.issuer = "CN=Clients" }, good, refused),
            (
                Self.requiring {
                    $0.issuer = "CN=Clients"
                    $0.names = ["build.example.com"].compactMap { CertificateName($0) }
                }, good, refused
            ),
        ]
        for (route, certificate, expected) in rows {
            #expect(try Self.told(route, certificate).told == expected, "\(route.require)")
        }
    }

    @Test("A certificate is no session, and its want is no reason to sign in again")
    func noSession() throws {
        let bench = try JudgeBench([Self.requiring { _ in }])
        let page = ["Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
        let certificate = try Self.certificate()
        let stranger = JudgedRequest(bench, "GET", "/x", page, certificate: certificate)
        #expect(try stranger.begin() == .answer(303, .credentialMissing))
        let (token, session) = try bench.live()
        let user = JudgedRequest(bench, "GET", "/x", page + ["Cookie: \(bench.cookie())=\(token)"])
        _ = try user.begin()
        #expect(try user.found(session) == .answer(403, .requireClientCertificate))
    }

    @Test("The app is told of the certificate beside the user, also where nobody is signed in")
    func told() throws {
        let certificate = try Self.certificate()
        let line = "X-Auth-Client-Certificate-Sha256: \(certificate.sha256.hexadecimal)\r\n"
        let lines = try #require(try Self.told(route("/**", .required), certificate).identity).session
        let text = String(decoding: lines, as: UTF8.self)
        #expect(text.hasPrefix("X-Auth-Subject: ada\r\n") && text.hasSuffix(line))
        let plain = try #require(try Self.told(route("/**", .required), nil).identity).session
        #expect(!String(decoding: plain, as: UTF8.self).contains("Client-Certificate"))

        let bench = try JudgeBench([route("/**", .public)])
        let request = JudgedRequest(bench, certificate: certificate)
        #expect(try request.begin() == .permitted(route: "/**", subject: nil))
        #expect(request.identity.map { String(decoding: $0.session, as: UTF8.self) } == line)
        let other = JudgedRequest(bench)
        #expect(try other.begin() == .permitted(route: "/**", subject: nil) && other.identity == nil)
    }

    @Test(
        "Subject and names are told where the settings ask for them, encoded as other values; what is unsafe is refused"
    )
    func asked() throws {
        let certificate = try Self.certificate()
        func fields(_ settings: inout Settings) {
            settings.identity.fields = [
                .init(name: "X-Client-Subject", path: "client_certificate.subject"),
                .init(name: "X-User", path: "subject"),
                .init(name: "X-Client-San", path: "client_certificate.san"),
            ]
        }
        let lines = try #require(try Self.told(route("/**", .required), certificate, fields).identity).session
        #expect(
            String(decoding: lines, as: UTF8.self) == """
                X-User: ada\r
                X-Client-Subject: CN=Build\\, J\\C3\\B6rg\r
                X-Client-San: build.example.com,spiffe://cluster.local/ns/prod/sa/build\r

                """
        )
        let odd = try Self.certificate("https://a.example/x,spiffe://root")
        let names = ClientCertificate(
            der: CertificateBytes("x", names: [(CertificateBytes.uri, "https://a.example/x,spiffe://root")]).der
        )
        #expect(odd.names.map(\.text) == ["spiffe://cluster.local/ns/prod/sa/build"])
        #expect(
            try Self.told(route("/**", .required), names, fields).told == .answer(403, .identityUnsafeValue)
        )
    }

    @Test("A token that is bound to a certificate is good only on a connection with that certificate (RFC 8705 3)")
    func boundToken() throws {
        let bench = try JudgeBench()
        let certificate = try Self.certificate()
        let (token, session) = try bench.live(.native) { $0.certificateHash = certificate.sha256 }
        for (presented, expected) in [
            (certificate, .permitted(route: "/**", subject: "ada")),
            (try Self.certificate("other.example.com"), .answer(401, .credentialBoundToCertificate)),
            (nil, .answer(401, .credentialBoundToCertificate)),
        ] as [(ClientCertificate?, JudgedRequest.Told)] {
            let request = JudgedRequest(bench, "GET", "/x", ["Authorization: Bearer \(token)"], certificate: presented)
            #expect(try request.begin() == .ask(.native, .request))
            #expect(try request.found(session) == expected)
            guard case .answer = expected else { continue }
            #expect(request.values("WWW-Authenticate") == [#"Bearer error="invalid_token""#])
            #expect(request.audited == ["session.denied"])
        }
    }

    @Test("A token that is bound to a key and to a certificate needs both")
    func boundTwice() throws {
        let bench = try JudgeBench()
        let certificate = try Self.certificate()
        let (token, session) = try bench.live(.native) {
            $0.certificateHash = certificate.sha256
            $0.keyThumbprint = Self.maker.thumbprint
        }
        let proof = Self.maker.proof(
            method: "GET",
            url: "https://app.example.com/x",
            accessToken: Secret(token),
            at: JudgeBench.now
        )
        let fields = ["Authorization: DPoP \(token)", "DPoP: \(proof)"]
        let without = JudgedRequest(bench, "GET", "/x", fields)
        _ = try without.begin()
        #expect(try without.found(session) == .answer(401, .credentialBoundToCertificate))
        let bearer = JudgedRequest(bench, "GET", "/x", ["Authorization: Bearer \(token)"], certificate: certificate)
        _ = try bearer.begin()
        #expect(try bearer.found(session) == .answer(401, .credentialBoundToKey))
        let both = JudgedRequest(bench, "GET", "/x", fields, certificate: certificate)
        _ = try both.begin()
        #expect(try both.found(session) == .redeem(Self.maker.thumbprint))
        #expect(try both.redeemed(nil) == .ask(.native, .proof))
        #expect(try both.found(session) == .permitted(route: "/**", subject: "ada"))
    }
}
