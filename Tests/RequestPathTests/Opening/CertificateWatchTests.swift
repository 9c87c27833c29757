import Cryptography
import Foundation
import RequestPath
import Settings
import Testing
import Vocabulary

@Suite("The look at the files of certificates")
struct CertificateWatchTests {
    /// Reads a pair without judging its dates.
    static let judges: SettingsJudges = {
        var judges = SettingsJudges()
        judges.certificate = { chain, key throws(CertificateFault) in
            guard let certificate = Certificate.all(inPEM: chain)?.first, let key = CertificateKey(pem: key),
                certificate.belongs(to: key)
            else { throw CertificateFault(isOfKey: true, found: "another key", fix: "write the right one") }
            return CertificateFacts(
                names: certificate.dnsNames,
                from: certificate.validFrom,
                until: certificate.validUntil,
                key: "P-256",
                isECDSA: true
            )
        }
        return judges
    }()

    /// A folder with a pair of files and the TLS of a listener that was made of it.
    private final class Bench {
        let folder = FileManager.default.temporaryDirectory.appending(path: "watch-\(UUID())")
        let watch = CertificateWatch(CertificateFiles(judges: CertificateWatchTests.judges))
        private(set) var tls: [ListenerTLS] = []

        static let whole = Settings(hosts: [], upstreams: [])

        init(_ name: String, below path: String = "") throws {
            try FileManager.default.createDirectory(
                at: self.folder.appending(path: path),
                withIntermediateDirectories: true
            )
            try self.write(name, below: path)
            try self.makeTLS(below: path)
        }

        deinit {
            try? FileManager.default.removeItem(at: self.folder)
        }

        func path(_ name: String) -> String { self.folder.appending(path: name).path }

        func write(_ name: String, below path: String = "") throws {
            let pair = SelfSignedCertificate(names: [name], days: 10)
            try self.write(pair.certificate, to: "\(path)/own.pem")
            try self.write(pair.key.bytes, to: "\(path)/own.key")
        }

        func write(_ bytes: [UInt8], to name: String) throws {
            // As tools that renew certificates do: a new file takes the place of the old one.
            try Data(bytes).write(to: self.folder.appending(path: name), options: .atomic)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: self.path(name))
        }

        private func makeTLS(below path: String) throws {
            var settings = TLSSettings()
            settings.certificates = [
                try CertificateSettings.read(
                    self.path("\(path)/own.pem"),
                    self.path("\(path)/own.key"),
                    from: .system,
                    by: CertificateWatchTests.judges
                )
            ]
            let listeners = [
                ListenerSettings(ListenAddress(host: "127.0.0.1", port: 1)),
                ListenerSettings(ListenAddress(host: "127.0.0.1", port: 2), acceptsAnyHostName: true),
            ]
            self.tls = try listeners.map { try ListenerTLS(settings, $0) }
        }

        /// The names in the certificates that are in use.
        var names: [[String]] { self.tls.map { $0.settings.certificates.flatMap { $0.facts?.names ?? [] } } }

        /// `unchanged`, `renewed` or what is wrong.
        func look() -> String {
            switch self.watch.look(at: self.tls, for: Self.whole) {
            case .unchanged: "unchanged"
            case .renewed: "renewed"
            case .kept(let reason): reason
            case .missing: "missing"
            }
        }
    }

    /// A source that has one value.
    private struct Source: CertificateSource {
        let current: TLSSettings

        func certificates(for settings: TLSSettings) throws(CertificateFault) -> TLSSettings? {
            settings == self.current ? nil : self.current
        }
    }

    @Test("if new certificates cannot be used by one of the listeners, none uses them, and each look says so")
    func allOrNone() throws {
        let pair = SelfSignedCertificate(names: ["first.example"], days: 10)
        let files = SettingsFiles(
            read: { path, _ in path.hasSuffix("key") ? pair.key.bytes : pair.certificate },
            isReadable: { _ in true }
        )
        var settings = TLSSettings()
        settings.certificates = [try CertificateSettings.read("own.pem", "own.key", from: files, by: Self.judges)]
        settings.clientAuthorities = try ClientAuthorities.read("ca.pem", from: files, by: Self.judges)
        var listeners = (1...2).map { ListenerSettings(ListenAddress(host: "127.0.0.1", port: $0)) }
        listeners[1].clientCertificates = .required
        let tls = try listeners.map { try ListenerTLS(settings, $0) }
        var other = settings
        other.clientAuthorities = nil
        let watch = CertificateWatch(Source(current: other))
        for _ in 0..<2 {
            guard case .kept = watch.look(at: tls, for: Bench.whole) else {
                Issue.record("the second listener cannot use the settings")
                return
            }
            #expect(tls.allSatisfy { $0.settings == settings })
        }
    }

    @Test("renewed files are taken into use by all listeners at once, and the same ones change nothing")
    func renewal() throws {
        let bench = try Bench("first.example")
        for _ in 0..<3 { #expect(bench.look() == "unchanged") }
        try bench.write("second.example")
        #expect(bench.names == [["first.example"], ["first.example"]])
        #expect(bench.look() == "renewed")
        #expect(bench.names == [["second.example"], ["second.example"]])
        #expect(bench.look() == "unchanged")
        #expect(bench.watch.look(at: [], for: Bench.whole).isUnchanged)
    }

    @Test(
        "a pair that does not fit, a damaged one and a missing one change nothing, and are looked at again as they are"
    )
    func bad() throws {
        let bench = try Bench("first.example")
        let other = SelfSignedCertificate(names: ["other.example"], days: 10)
        _ = bench.look()
        let good = try Data(contentsOf: bench.folder.appending(path: "own.key"))
        for bytes in [other.key.bytes, Array("no key".utf8), []] {
            try bench.write(bytes, to: "own.key")
            #expect(bench.look().contains("another key"))
        }
        try FileManager.default.removeItem(atPath: bench.path("own.key"))
        #expect(bench.look().contains("no such file"))
        try bench.write(Array(good), to: "own.key")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: bench.path("own.key"))
        for _ in 0..<2 { #expect(bench.look().contains("chmod 600")) }
        #expect(bench.names == [["first.example"], ["first.example"]])
        // The second half of a renewal arrives: now both are new.
        try bench.write(other.certificate, to: "own.pem")
        try bench.write(other.key.bytes, to: "own.key")
        #expect(bench.look() == "renewed")
        #expect(bench.names == [["other.example"], ["other.example"]])
    }

    @Test("the files of settings that were loaded again are read, although they are as the last look has seen them")
    func reload() throws {
        let bench = try Bench("first.example")
        let settings = bench.tls[0].settings
        try bench.write("second.example")
        #expect(bench.look() == "renewed")
        let listener = ListenerSettings(ListenAddress(host: "127.0.0.1", port: 1))
        // Loaded before the files were replaced, and used after the look.
        let late = try ListenerTLS(settings, listener)
        #expect(!bench.watch.look(at: [late], for: Bench.whole).isUnchanged)
        #expect(late.settings.certificates[0].facts?.names == ["second.example"])
        #expect(bench.watch.look(at: [late], for: Bench.whole).isUnchanged)
    }

    @Test("a directory that is replaced by its link is looked into, as Kubernetes mounts secrets")
    func link() throws {
        let bench = try Bench("first.example", below: "..2026_1")
        let files = FileManager.default
        try files.createSymbolicLink(atPath: bench.path("..data"), withDestinationPath: "..2026_1")
        // The settings name the link.
        var settings = bench.tls[0].settings
        settings.certificates[0].certificateFile = bench.path("..data/own.pem")
        settings.certificates[0].keyFile = bench.path("..data/own.key")
        let listener = try ListenerTLS(settings, ListenerSettings(ListenAddress(host: "127.0.0.1", port: 1)))
        #expect(bench.watch.look(at: [listener], for: Bench.whole).isUnchanged)
        try files.createDirectory(atPath: bench.path("..2026_2"), withIntermediateDirectories: true)
        try bench.write("second.example", below: "..2026_2")
        #expect(bench.watch.look(at: [listener], for: Bench.whole).isUnchanged)
        try files.removeItem(atPath: bench.path("..data"))
        try files.createSymbolicLink(atPath: bench.path("..data"), withDestinationPath: "..2026_2")
        #expect(!bench.watch.look(at: [listener], for: Bench.whole).isUnchanged)
        #expect(listener.settings.certificates[0].facts?.names == ["second.example"])
    }
}

extension CertificateWatch.Outcome {
    fileprivate var isUnchanged: Bool { if case .unchanged = self { true } else { false } }
}
