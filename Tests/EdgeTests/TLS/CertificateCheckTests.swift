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
        let asking =
            "{certificate_file: own.pem, key_file: own.key, client_ca_file: ca.pem, client_certificates: optional}"
        #expect(
            try self.check(certificates, asking).output.contains("  TLS  h2, http/1.1  client certificates optional\n")
        )
        let (status, output) = try self.check(certificates, Self.pair)
        #expect(status == 0, "\(output)")
        #expect(!output.contains("trusted_proxies is empty"))
        #expect(output.contains(/localhost, \*\.example\.com: P-256, (29|30) days left/), "\(output)")
        let wildcard = try self.check(certificates, Self.pair, url: "https://a.example.com")
        #expect(wildcard.status == 0, "\(wildcard.output)")
    }

    @Test("with TLS check recommends that browsers remember it, until they are told to")
    func recommendation() throws {
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.certificate("own", for: "DNS:localhost")
        let advice = "strict_transport_security: {max_age: 1d}, so that browsers use only https"
        #expect(try self.check(certificates, Self.pair).output.contains(advice))
        let told = try self.check(certificates, "\(Self.pair)\nstrict_transport_security: {max_age: 1d}")
        #expect(told.status == 0 && !told.output.contains(advice), "\(told.output)")
        let plain = try self.check(certificates, "\(Self.pair)\nlisten: {address: \":8080\", tls: false}")
        #expect(!plain.output.contains(advice), "\(plain.output)")
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
        try certificates.certificate("client", for: "DNS:localhost", more: ["-addext", "extendedKeyUsage=clientAuth"])
        try certificates.certificate("signer", for: "DNS:localhost", more: ["-addext", "keyUsage=keyCertSign"])
        try certificates.certificate(
            "koblitz",
            for: "DNS:localhost",
            key: ["ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"]
        )
        let indented = own.split(separator: "\n").map { "  \($0)\n" }.joined()
        try certificates.write(indented + between, to: "indented.pem")
        try certificates.write(own.replacingOccurrences(of: "\n", with: "\r"), to: "returns.pem")
        try certificates.write(own.replacingOccurrences(of: "CERT", with: "NEW CERT"), to: "label.pem")
        try certificates.write(
            own.replacingOccurrences(of: "CERTIFICATE", with: "CERTIFICATE REQUEST"),
            to: "request.pem"
        )
        try certificates.write("", to: "empty.pem")
        try certificates.write("", to: "empty.key")
        let key = try certificates.text("own.key")
        try certificates.write(key.split(separator: "\n").map { "  \($0)\n" }.joined(), to: "indented.key")
        for (kind, file) in [("x509", "own.pem"), ("pkey", "own.key")] {
            let der = "der.\(file.suffix(3))"
            _ = try Servers.run(
                "/usr/bin/openssl",
                [kind, "-in", certificates.path(file), "-outform", "DER", "-out", certificates.path(der)]
            )
        }
        try certificates.text("own.pem").write(
            toFile: certificates.path("wide.pem"),
            atomically: true,
            encoding: .utf16LittleEndian
        )
        _ = try Servers.run(
            "/usr/bin/openssl",
            ["pkey", "-in", certificates.path("own.key"), "-pubout", "-out", certificates.path("shared.key")]
        )
        for name in ["locked.key", "own.pem", "der.key", "shared.key"] { try certificates.mode(0o600, of: name) }
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
            ("own.key", "own.key", ["certificate_file", "a private key instead of a certificate"]),
            ("damaged.pem", "own.key", ["certificate_file", "damaged"]),
            ("own.pem", "own.pem", ["key_file", "no private key in PEM form"]),
            ("own.pem", "locked.key", ["key_file", "an encrypted key", "openssl pkey"]),
            ("own.pem", "missing.key", ["key_file", "no such file", "missing.key"]),
            (".", "own.key", ["certificate_file", "a directory", "check the path"]),
            ("old.pem", "old.key", ["certificate_file", "expired on"]),
            ("later.pem", "later.key", ["certificate_file", "valid only from"]),
            ("weak.pem", "weak.key", ["certificate_file", "RSA key of 1024 bits"]),
            ("client.pem", "client.key", ["certificate_file", "CN=client, which is not for servers"]),
            ("signer.pem", "signer.key", ["certificate_file", "CN=signer, which is not for servers"]),
            ("koblitz.pem", "koblitz.key", ["certificate_file", "a kind that browsers do not accept"]),
            ("indented.pem", "own.key", ["certificate_file", "left margin"]),
            ("returns.pem", "own.key", ["certificate_file", "left margin"]),
            ("label.pem", "own.key", ["certificate_file", "no certificate in PEM form", "-----BEGIN"]),
            ("request.pem", "own.key", ["certificate_file", "a certificate request"]),
            ("empty.pem", "own.key", ["certificate_file", "an empty file"]),
            ("der.pem", "own.key", ["certificate_file", "openssl x509 -inform DER"]),
            ("wide.pem", "own.key", ["certificate_file", "no certificate in PEM form"]),
            ("own.pem", "empty.key", ["key_file", "an empty file"]),
            ("own.pem", "indented.key", ["key_file", "left margin"]),
            ("own.pem", "der.key", ["key_file", "openssl pkey -inform DER"]),
            ("own.pem", "shared.key", ["key_file", "a public key"]),
            ("other.pem", "other.key", ["public_url", "found certificates for other.example"]),
        ] {
            let (status, output) = try self.check(certificates, "{certificate_file: \(certificate), key_file: \(key)}")
            #expect(status == 1, "\(certificate), \(key): \(output)")
            for word in words { #expect(output.contains(word), "\(certificate), \(key): \(output)") }
            #expect(!output.contains("PRIVATE KEY"), "\(output)")
        }
    }

    @Test("files as other tools write them are taken: line ends, a mark of UTF-8, comments, keys in other forms")
    func forms() throws {
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.certificate("own", for: "DNS:localhost")
        let (own, key) = (try certificates.text("own.pem"), try certificates.text("own.key"))
        try certificates.write(own.replacingOccurrences(of: "\n", with: "\r\n"), to: "lines.pem")
        try certificates.write(key.replacingOccurrences(of: "\n", with: "\r\n"), to: "lines.key")
        try certificates.write("\u{FEFF}" + own, to: "mark.pem")
        try certificates.write("\u{FEFF}" + key, to: "mark.key")
        try certificates.write("subject=CN = own\n\n" + own + "\n# end\n" + key, to: "both.pem")
        try certificates.write("# a key\n" + key + own, to: "both.key")
        let (status, parameters) = try Servers.run(
            "/usr/bin/openssl",
            ["ec", "-in", certificates.path("own.key"), "-param_out"]
        )
        #expect(status == 0)
        let old = try Servers.run("/usr/bin/openssl", ["ec", "-in", certificates.path("own.key")]).output
        let lines = (parameters + old).split(separator: "\n").filter { !$0.hasSuffix("EC key") }
        try certificates.write(lines.joined(separator: "\n") + "\n", to: "old.key")
        for (certificate, key) in [
            ("lines.pem", "lines.key"), ("mark.pem", "mark.key"), ("both.pem", "both.key"), ("own.pem", "old.key"),
        ] {
            let (status, output) = try self.check(certificates, "{certificate_file: \(certificate), key_file: \(key)}")
            #expect(status == 0, "\(certificate), \(key): \(output)")
        }
    }

    @Test("authorities of clients that cannot verify anybody are refused, and one that a reader would leave out")
    func authorities() throws {
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.authority("other")
        try certificates.authority("old", faketime: "-100d")
        try certificates.certificate("own", for: "DNS:localhost")
        let (first, second) = (try certificates.text("ca.pem"), try certificates.text("other.pem"))
        let old = try certificates.text("old.pem")
        let indented = first.split(separator: "\n").map { "  \($0)\n" }.joined()
        for (text, word) in [
            (first, nil), ("\u{FEFF}" + first + second, nil), (old + first, nil), (old, "expired on"),
            (indented + second, "left margin"), ("", "an empty file"),
            (try certificates.text("own.pem"), "not the certificate of an authority"),
            (try certificates.text("own.key"), "a private key"),
        ] as [(String, String?)] {
            try certificates.write(text, to: "clients.pem")
            let (status, output) = try self.check(
                certificates,
                "{certificate_file: own.pem, key_file: own.key, client_certificates: optional, client_ca_file: clients.pem}"
            )
            #expect((status == 0) == (word == nil), "\(word ?? "good"): \(output)")
            if let word { #expect(output.contains("client_ca_file") && output.contains(word), "\(output)") }
        }
    }

    @Test("an issuer in the file that expires before the certificate is what is warned of")
    func issuer() throws {
        let certificates = try EdgeCertificates()
        try certificates.authority("ca", faketime: "-20d")
        try certificates.certificate("own", for: "DNS:localhost")
        try certificates.write(try certificates.text("own.pem") + certificates.text("ca.pem"), to: "chain.pem")
        let (status, output) = try self.check(certificates, "{certificate_file: chain.pem, key_file: own.key}")
        #expect(status == 0 && output.contains(/expires in (9|10) days/), "\(output)")
        #expect(output.contains(/P-256, (9|10) days left/), "\(output)")
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
        for name in ["1.2.3", "127.0.0.1.5", "123", "fe80::1%eth0", "a,DNS:b", "::zz", "b\u{FC}cher.example", "[::1]"] {
            let (status, output) = try Servers.run(
                Gateway.binary.path,
                ["certificate", "--self-signed", "--name=\(name)", "--certificate-file", certificates.path("odd.pem")]
                    + ["--key-file", certificates.path("odd.key")]
            )
            #expect(status == 64 && output.contains("write a host name"), "\(name): \(status) \(output)")
        }
        // Neither of the two is made if one cannot be.
        let blocked = try Servers.run(
            Gateway.binary.path,
            ["certificate", "--self-signed", "--certificate-file", certificates.path("own.pem"), "--key-file"]
                + [certificates.path("new.key")]
        )
        #expect(blocked.status == 1 && !FileManager.default.fileExists(atPath: certificates.path("new.key")))
    }
}
