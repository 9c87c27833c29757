import AddressIntelligence
import ArgumentParser
import Cryptography
import Glibc
import Vocabulary

/// `sallyport certificate`: makes a self-signed certificate and its key.
struct CertificateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "certificate",
        abstract: "Make a certificate and its key, for trying the gateway with TLS.",
        discussion: """
            The certificate is self-signed and has a P-256 key. Browsers warn about it, and other clients need it as their \
            authority (curl --cacert). Existing files are never overwritten. The key file gets mode 0600.
            """
    )

    @Flag(help: "Confirm that no authority signs the certificate. Without this flag nothing is made.")
    var selfSigned = false

    @Option(name: .customLong("name"), help: "A name or address of the server. Repeatable.")
    var names: [String] = ["localhost", "127.0.0.1", "::1"]

    @Option(help: "The days that the certificate is valid, from 1 to 397.")
    var days = 90

    @Option(help: "The file for the certificate.", completion: .file())
    var certificateFile = "certificate.pem"

    @Option(help: "The file for the key.", completion: .file())
    var keyFile = "key.pem"

    func validate() throws {
        guard self.selfSigned else {
            throw ValidationError("add --self-signed: the gateway is not an authority and makes no other certificates")
        }
        guard (1...397).contains(self.days) else { throw ValidationError("--days must be 1 to 397") }
        for name in self.names where !Self.isName(name) {
            throw ValidationError("--name \(name): write a host name in ASCII, *.example.com, or an IP address")
        }
        guard self.certificateFile != self.keyFile else {
            throw ValidationError("--certificate-file and --key-file must be two files")
        }
    }

    func run() throws {
        let made = SelfSignedCertificate(names: self.names.map { $0.lowercased() }, days: self.days)
        try PrivateFileFailure.reported {
            try PrivateFile.make(at: self.keyFile, with: made.key.bytes)
            do {
                try PrivateFile.make(at: self.certificateFile, with: made.certificate, mode: 0o644)
            } catch {
                // A key without a certificate would make the next call fail: existing files are never overwritten.
                unlink(self.keyFile)
                throw error
            }
        }
        Console.say(
            """
            made \(self.certificateFile) for \(self.names.joined(separator: ", ")), valid for \(self.days) days, and \(self.keyFile)
            next: set tls.certificate_file and tls.key_file to them; curl trusts the certificate with --cacert \(self.certificateFile)
            """
        )
    }

    /// True for a host name, a wildcard of one label, or an IP address.
    private static func isName(_ name: String) -> Bool {
        if IPAddress(name) != nil { return !name.utf8.contains(UInt8(ascii: "%")) }
        // Clients read a name of only digits and dots as a malformed address.
        if name.utf8.allSatisfy({ $0 == 0x2E || $0 &- 0x30 <= 9 }) { return false }
        let bare = name.hasPrefix("*.") ? name.dropFirst(2) : name[...]
        let labels = bare.split(separator: ".", omittingEmptySubsequences: false)
        return name.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                    && label.utf8.allSatisfy { $0.isAlphanumeric || $0 == 0x2D || $0 == 0x5F }
            }
    }
}
