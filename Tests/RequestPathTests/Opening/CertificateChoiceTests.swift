import Cryptography
import Foundation
import RequestPath
import Settings
import Testing
import Vocabulary

@Suite("Which of several certificates a client gets")
struct CertificateChoiceTests {
    /// A listener with two certificates for one name: on a curve and for `old`, of RSA and for `new`.
    ///
    /// - Parameter until: When the one on a curve expires.
    private func listener(until: UnixTime) throws -> ListenerTLS {
        let folder = FileManager.default.temporaryDirectory.appending(path: "choice-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var judges = SettingsJudges()
        judges.certificate = { chain, _ throws(CertificateFault) in
            let names = Certificate.all(inPEM: chain)?.first?.dnsNames ?? []
            let isOld = names.contains("old.example")
            return CertificateFacts(
                names: names,
                from: UnixTime(seconds: 0),
                until: isOld ? until : UnixTime(seconds: 1000),
                key: isOld ? "P-256" : "RSA-2048",
                isECDSA: isOld
            )
        }
        var settings = TLSSettings()
        settings.certificates = try ["old", "new"].map { name in
            let pair = SelfSignedCertificate(names: ["app.example", "\(name).example"], days: 10)
            let files = [("pem", pair.certificate), ("key", pair.key.bytes)].map { ending, bytes in
                (file: folder.appending(path: "\(name).\(ending)"), bytes: bytes)
            }
            for (file, bytes) in files {
                try Data(bytes).write(to: file)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            }
            return try CertificateSettings.read(files[0].file.path, files[1].file.path, from: .system, by: judges)
        }
        let address = ListenAddress(host: "127.0.0.1", port: 1)
        return try ListenerTLS(settings, ListenerSettings(address, acceptsAnyHostName: true))
    }

    @Test("One on a curve goes first until it expires while the gateway runs; then one of RSA does")
    func expired() throws {
        let tls = try self.listener(until: UnixTime(seconds: 500))
        #expect(tls.choice(for: nil, now: UnixTime(seconds: 499))?.facts?.key == "P-256")
        #expect(tls.choice(for: nil, now: UnixTime(seconds: 500))?.facts?.key == "RSA-2048")
        #expect(tls.choice(for: nil, now: UnixTime(seconds: 1000))?.facts?.key == "P-256", "all have expired")
    }
}
