import AddressIntelligence
import Cryptography
import NIOCore
import RequestPath
import Settings
import Synchronization
import Testing
import Vocabulary

@Suite("A listener that begins without a certificate")
struct LateCertificateTests {
    /// A source whose certificates come while the gateway runs.
    private final class LateSource: CertificateSource {
        private let state = Mutex<Result<[CertificateSettings], CertificateFault>>(.success([]))

        func certificates(for settings: TLSSettings) throws(CertificateFault) -> TLSSettings? {
            let certificates = try self.state.withLock { $0 }.get()
            guard !certificates.isEmpty, certificates != settings.certificates else { return nil }
            var settings = settings
            settings.certificates = certificates
            return settings
        }

        /// Brings certificates for these names.
        func bring(_ names: String...) throws {
            let certificates = try names.map { name in
                let pair = SelfSignedCertificate(names: [name], days: 10)
                let files = SettingsFiles(
                    read: { path, _ in path.hasSuffix("key") ? pair.key.bytes : pair.certificate },
                    isReadable: { _ in true }
                )
                let judges = CertificateWatchTests.judges
                return try CertificateSettings.read("\(name).pem", "\(name).key", from: files, by: judges)
            }
            self.state.withLock { $0 = .success(certificates) }
        }

        func fail(_ fault: CertificateFault) {
            self.state.withLock { $0 = .failure(fault) }
        }
    }

    /// Listeners with TLS and without a certificate, and a gateway with the hosts `a.example` and `b.example`.
    private final class Bench {
        static let listener = {
            var listener = ListenerSettings(ListenAddress(host: "127.0.0.1", port: 1))
            listener.isSecure = true
            return listener
        }()

        let source = LateSource()
        let tls: [ListenerTLS]
        let gateway: ExchangeBench

        init() throws {
            self.tls = try (0..<2).map { _ in try ListenerTLS(TLSSettings(), Self.listener) }
            self.gateway = try ExchangeBench(tls: self.tls) { settings in
                settings.listen = [Self.listener, Self.listener]
                settings.hosts = ["a.example", "b.example"].map { name in
                    HostSettings(
                        publicURL: PublicURL(isHTTPS: true, host: name, port: 443),
                        endpoints: false,
                        routes: []
                    )
                }
            }
        }

        /// `unchanged`, the names that are in use from now on, or why the certificates are missing or were kept.
        func look() -> String {
            switch CertificateWatch(self.source).look(at: self.tls, for: self.gateway.configuration.settings) {
            case .unchanged: "unchanged"
            case .renewed(let settings): settings.certificates.flatMap { $0.facts?.names ?? [] }.joined(separator: " ")
            case .kept(let reason): "kept: \(reason)"
            case .missing(let reason): "missing: \(reason ?? "")"
            }
        }

        /// What a client of each listener is sent that asks for `a.example`.
        func answers() throws -> [[UInt8]] {
            try self.tls.indices.map { index in
                let gate = ConnectionGate(LimitSettings(), trusted: [], files: 264)
                gate.reserve()
                let client = AcceptedClient(
                    from: try #require(IPAddress("192.0.2.1")),
                    at: .now(),
                    as: .clients(index),
                    on: self.gateway.loop,
                    by: gate
                )
                let stream = ScriptedStream()
                try #require(client).open(stream, on: self.gateway.loop)
                stream.come(ClientHelloTests.hello([ClientHelloTests.name("a.example")]))
                return stream.sentBytes()
            }
        }
    }

    /// A fatal `internal_error` (RFC 8446 6).
    private static let alert: [UInt8] = [21, 3, 3, 0, 2, 2, 80]

    @Test("Clients are refused with an alert until the first certificate comes, which new handshakes get")
    func firstCertificate() throws {
        let bench = try Bench()
        #expect(bench.look() == "missing: ")
        #expect(bench.tls.allSatisfy { $0.awaitsCertificate && $0.choice(for: nil, now: UnixTime(seconds: 0)) == nil })
        #expect(try bench.answers() == [Self.alert, Self.alert])
        try bench.source.bring("a.example")
        #expect(bench.look() == "a.example")
        #expect(try bench.answers() == [[], []], "the handshakes begin")
        for tls in bench.tls {
            #expect(!tls.awaitsCertificate)
            #expect(tls.choice(for: nil, now: UnixTime(seconds: 0))?.facts?.names == ["a.example"])
        }
        #expect(bench.look() == "unchanged")
    }

    @Test("The reason of a source that has no certificate is told, and ends with the first one")
    func reason() throws {
        let bench = try Bench()
        bench.source.fail(CertificateFault(isOfKey: false, found: "an order that failed", fix: "order again"))
        for _ in 0..<2 { #expect(bench.look() == "missing: an order that failed; order again") }
        #expect(try bench.answers() == [Self.alert, Self.alert])
        try bench.source.bring("a.example")
        #expect(bench.look() == "a.example")
        bench.source.fail(CertificateFault(isOfKey: false, found: "an order that failed", fix: "order again"))
        #expect(bench.look() == "kept: an order that failed; order again")
        #expect(try bench.answers() == [[], []])
    }

    @Test("Each certificate is used as it comes, and a host that has one does not lose it")
    func oneByOne() throws {
        let bench = try Bench()
        try bench.source.bring("a.example")
        #expect(bench.look() == "a.example")
        try bench.source.bring("a.example", "b.example")
        #expect(bench.look() == "a.example b.example")
        try bench.source.bring("b.example")
        #expect(bench.look().hasPrefix("kept: certificates for b.example, and none for https://a.example"))
        #expect(bench.tls.map(\.settings.certificates.count) == [2, 2])
    }

    @Test("A reload keeps the certificates that the source has brought, also with other settings of TLS")
    func reload() throws {
        let bench = try Bench()
        try bench.source.bring("a.example")
        #expect(bench.look() == "a.example")
        let same = try ListenerTLS.make(TLSSettings(), Bench.listener, keeping: bench.tls)
        #expect(same === bench.tls[0])
        var settings = TLSSettings()
        settings.minVersion = .v13
        let other = try ListenerTLS.make(settings, Bench.listener, keeping: bench.tls)
        #expect(other.settings.minVersion == .v13 && !other.awaitsCertificate)
        #expect(other.choice(for: nil, now: UnixTime(seconds: 0))?.facts?.names == ["a.example"])
    }
}
