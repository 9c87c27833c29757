package import NIOSSL
package import Vocabulary

/// The reason why a TLS handshake with an app failed, for the operator.
package struct TLSFault: Error, Equatable, CustomStringConvertible {
    /// The fault in one sentence, with the setting that may fix it, if any.
    package let description: String

    /// The handshake took longer than its timeout.
    static let late = TLSFault("the handshake with the app takes longer than timeouts.connect")

    private init(_ description: String) {
        self.description = description
    }

    /// Creates a fault from an error of NIOSSL. `nil` if the error is not about TLS: the connection failed or ended.
    ///
    /// - Parameters:
    ///   - name: The name, or the address, that the certificate must be valid for.
    ///   - hasCertificate: Whether the gateway has a client certificate for the app.
    ///   - certificate: The app's certificate. `nil` if the app has sent none.
    package init?(
        _ error: any Error,
        name: String,
        hasCertificate: Bool,
        certificate: NIOSSLCertificate?,
        now: UnixTime
    ) {
        switch error {
        case is NIOSSLExtraError:
            self.init("the app's certificate is not for \(name): see url and server_name")
        case let error as NIOSSLError:
            switch error {
            case .handshakeFailed(let cause): self.init(cause, hasCertificate, certificate, now)
            case .noCertificateToValidate, .unableToValidateCertificate, .cannotFindPeerIP:
                self.init("the app's certificate is not for \(name): see url and server_name")
            default: return nil
            }
        // An alert after the handshake: with TLS 1.3, the app verifies the gateway's certificate only then.
        case let error as BoringSSLError:
            guard case .sslError = error else { return nil }
            self.init(error, hasCertificate, certificate, now)
        default: return nil
        }
    }

    private init(_ error: BoringSSLError, _ hasCertificate: Bool, _ certificate: NIOSSLCertificate?, _ now: UnixTime) {
        let needsCertificate = "the app requires a client certificate: see certificate_file and key_file"
        let causes: [(words: [String], description: String)] = [
            (["CERTIFICATE_VERIFY_FAILED"], Self.distrust(certificate, now)),
            (
                ["WRONG_VERSION_NUMBER", "HTTP_REQUEST", "INVALID_OUTER_RECORD_TYPE"],
                "the app answers without TLS: does it speak https on this port?"
            ),
            (["EOF during"], "the app closes the connection during the handshake: does it speak TLS on this port?"),
            (["ALERT_CERTIFICATE_REQUIRED"], needsCertificate),
            (["ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL"], "the app speaks neither TLS 1.2 nor TLS 1.3"),
            (
                [
                    "ALERT_HANDSHAKE_FAILURE", "ALERT_INSUFFICIENT_SECURITY", "NO_SHARED_CIPHER",
                    "UNKNOWN_CIPHER_RETURNED",
                ],
                "the app and the gateway have no cipher in common"
                    + (hasCertificate ? "" : ", or it requires a client certificate (certificate_file)")
            ),
            (["ALERT_UNRECOGNIZED_NAME"], "the app does not know the name that it is asked for: see server_name"),
            (
                ["ALERT_CERTIFICATE_EXPIRED"],
                hasCertificate ? "the gateway's certificate (certificate_file) has expired" : needsCertificate
            ),
            (
                ["BAD_", "", "UNSUPPORTED_"].map { "ALERT_\($0)CERTIFICATE" }
                    + ["ALERT_UNKNOWN_CA", "ALERT_ACCESS_DENIED", "ALERT_DECRYPT_ERROR"],
                hasCertificate
                    ? "the app does not accept the gateway's certificate (certificate_file)" : needsCertificate
            ),
        ]
        // BoringSSL's text: `Error: 268435581 error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at
        // ...`
        let text = "\(error)"
        let cause = causes.first { $0.words.contains { text.utf8.contains($0.utf8) } }
        let reason = text.utf8.firstRange(of: "OPENSSL_internal:".utf8).map {
            ": \(text[$0.upperBound...].prefix { $0 != " " })"
        }
        self.init(cause?.description ?? "the handshake with the app fails\(reason ?? "")")
    }

    /// Returns why the app's certificate is not trusted.
    private static func distrust(_ certificate: NIOSSLCertificate?, _ now: UnixTime) -> String {
        if let certificate {
            let until = UnixTime(seconds: Int64(certificate.notValidAfter))
            let from = UnixTime(seconds: Int64(certificate.notValidBefore))
            if until < now { return "the app's certificate has expired" }
            if now < from { return "the app's certificate is not valid yet, or this machine's clock is wrong" }
        }
        return
            "the app's certificate is not signed by an authority that is trusted here (ca_file), or that one has expired"
    }
}
