import Foundation
import GatewayBench
import Testing

/// What `check` says about the files of certificates, as a start would.
@Suite("Files of certificates", .blocking) struct CertificateCheckTests {
    private func check(_ certificates: EdgeCertificates, _ tls: String, url: String = "https://localhost") throws -> (
        status: Int32, output: String
    ) {
        try certificates.write(
            """
            public_url: \(url)
            routes: [{path: /**, auth: public}]
            upstream: http://127.0.0.1:1
            tls: \(tls)
            """,
            to: "settings.yaml"
        )
        return try Servers.run(
            Gateway.binary.path,
            ["check", "--config", certificates.path("settings.yaml")]
        )
    }

    private static let pair = "{certificate_file: own.pem, key_file: own.key}"

    @Test("a good pair is valid, without trusted_proxies; names and days are shown")
    func good() throws {
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.certificate("own", for: "DNS:localhost,DNS:*.example.com")
        let (status, output) = try self.check(certificates, Self.pair)
        #expect(status == 0, "\(output)")
        #expect(!output.contains("trusted_proxies is empty"))
        #expect(output.contains(/localhost, \*\.example\.com: P-256, (29|30) days left/), "\(output)")
        let wildcard = try self.check(certificates, Self.pair, url: "https://a.example.com")
        #expect(wildcard.status == 0, "\(wildcard.output)")
    }

    @Test("each bad pair is refused with its file, what is wrong with it, and what to do")
    func bad() throws {
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.authority("between", by: "ca")
        try certificates.certificate("own", for: "DNS:localhost", by: "between")
        try certificates.certificate("other", for: "DNS:other.example")
        try certificates.certificate(
            "public",
            for: "DNS:localhost",
            more: ["-addext", "authorityInfoAccess=caIssuers;URI:http://ca.example/"]
        )
        try certificates.certificate("old", for: "DNS:localhost", faketime: "-100d")
        try certificates.certificate("later", for: "DNS:localhost", faketime: "+10d")
        try certificates.certificate("weak", for: "DNS:localhost", key: ["rsa:1024"])
        let own = try certificates.text("own.pem")
        let between = try certificates.text("between.pem")
        let authority = try certificates.text("ca.pem")
        try certificates.write(own + between + authority, to: "chain.pem")
        try certificates.write(own + authority + between, to: "swapped.pem")
        try certificates.write(between + own, to: "reversed.pem")
        try certificates.write(own + (try certificates.text("other.pem")), to: "foreign.pem")
        try certificates.write("no certificate\n", to: "text.pem")
        try certificates.write(own.replacingOccurrences(of: "MII", with: "MIX"), to: "damaged.pem")
        _ = try Servers.run(
            "/usr/bin/openssl",
            [
                "pkey", "-in", certificates.path("own.key"), "-aes128", "-passout", "pass:x", "-out",
                certificates.path("locked.key"),
            ]
        )
        for name in ["locked.key", "own.pem"] { try certificates.mode(0o600, of: name) }
        let good = try self.check(certificates, "{certificate_file: chain.pem, key_file: own.key}")
        #expect(good.status == 0, "\(good.output)")
        for (certificate, key, words) in [
            ("own.pem", "other.key", ["key_file", "does not belong to the certificate of CN=own"]),
            ("swapped.pem", "own.key", ["certificate_file", "wrong order"]),
            ("reversed.pem", "own.key", ["certificate_file", "own one is not the first"]),
            (
                "foreign.pem", "own.key",
                ["certificate_file", "CN=other after CN=own, which CN=authority between has issued"]
            ),
            ("public.pem", "public.key", ["certificate_file", "fullchain.pem"]),
            ("text.pem", "own.key", ["certificate_file", "no certificate in PEM form"]),
            ("own.key", "own.key", ["certificate_file", "a private key in place of a certificate"]),
            ("damaged.pem", "own.key", ["certificate_file", "damaged"]),
            ("own.pem", "own.pem", ["key_file", "no private key in PEM form"]),
            ("own.pem", "locked.key", ["key_file", "an encrypted key", "openssl pkey"]),
            ("own.pem", "missing.key", ["key_file", "no such file", "missing.key"]),
            ("old.pem", "old.key", ["certificate_file", "expired on"]),
            ("later.pem", "later.key", ["certificate_file", "valid only from"]),
            ("weak.pem", "weak.key", ["certificate_file", "RSA key of 1024 bits"]),
            ("other.pem", "other.key", ["public_url", "the certificates are for other.example"]),
        ] {
            let (status, output) = try self.check(certificates, "{certificate_file: \(certificate), key_file: \(key)}")
            #expect(status == 1, "\(certificate), \(key): \(output)")
            for word in words { #expect(output.contains(word), "\(certificate), \(key): \(output)") }
            #expect(!output.contains("PRIVATE KEY"), "\(output)")
        }
    }

    @Test("a key that others can read is refused with its mode and the mend")
    func exposed() throws {
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.certificate("own", for: "DNS:localhost")
        for mode in [0o604, 0o644, 0o666, 0o606] {
            try certificates.mode(mode, of: "own.key")
            let (status, output) = try self.check(certificates, Self.pair)
            #expect(status == 1 && output.contains("own.key with mode 0\(String(mode, radix: 8))"), "\(output)")
            #expect(output.contains("chmod 600"), "\(output)")
        }
    }

    @Test("a certificate that expires soon and one with RSA are warned of")
    func warnings() throws {
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.certificate("own", for: "DNS:localhost", key: ["rsa:2048"], faketime: "-20d")
        let (status, output) = try self.check(certificates, Self.pair)
        #expect(status == 0 && output.contains(/expires in (9|10) days/), "\(output)")
        #expect(output.contains("RSA-2048"), "\(output)")
    }

    @Test("`certificate --self-signed` makes a pair with which the gateway starts, and overwrites nothing")
    func selfSigned() throws {
        let certificates = try EdgeCertificates()
        let arguments = [
            "certificate", "--self-signed", "--name", "localhost", "--name", "127.0.0.1", "--name", "::1",
            "--certificate-file", certificates.path("own.pem"), "--key-file", certificates.path("own.key"),
        ]
        #expect(try Servers.run(Gateway.binary.path, arguments).status == 0)
        #expect(try Servers.run(Gateway.binary.path, arguments).status == 1)
        let mode = try FileManager.default.attributesOfItem(atPath: certificates.path("own.key"))[.posixPermissions]
        #expect(mode as? Int == 0o600)
        for url in ["https://localhost", "https://127.0.0.1:8443", "https://[::1]"] {
            let (status, output) = try self.check(certificates, Self.pair, url: url)
            #expect(status == 0, "\(output)")
        }
        let text = try Servers.run(
            "/usr/bin/openssl",
            ["x509", "-in", certificates.path("own.pem"), "-noout", "-text"]
        )
        #expect(
            text.output.contains("DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1"),
            "\(text.output)"
        )
        #expect(text.output.contains("prime256v1"))
        #expect(try Servers.run(Gateway.binary.path, ["certificate"]).status != 0)
    }
}
