import NIOCore
import RedisStore
import Vocabulary

extension RedisCheck {
    /// Explains why `endpoint` did not answer, and what to do. If the error is ambiguous, connects again, without
    /// sending secrets.
    func explain(_ error: any Error, at endpoint: RedisEndpoint) async -> String {
        switch RedisMessages.doubt(error) {
        case .certificate: await self.distrust(endpoint) ?? RedisMessages.failure(error, of: self.configuration)
        case .protocol: await self.stranger(endpoint) ?? RedisMessages.failure(error, of: self.configuration)
        case nil: RedisMessages.failure(error, of: self.configuration)
        }
    }

    /// Explains why the server's certificate is not trusted; `nil` if the server presents none now.
    private func distrust(_ endpoint: RedisEndpoint) async -> String? {
        let shown = try? await RedisDiagnosis.certificates(of: endpoint, over: self.connector, on: self.loop).get()
        guard let shown else { return nil }
        let fix = "renew it and let Redis load it"
        if let fault = CertificateProbe.fault(of: shown, now: Clock.system.now(), fix: fix) { return fault }
        guard self.configuration.tls?.authorityFile != nil else {
            return "its certificate is not signed by an authority that is trusted here: write ca= into the URL"
        }
        return "its certificate is not signed by an authority that is trusted here: ca= of the URL contains another one"
    }

    /// Explains why the server does not fit the URL; `nil` if it may fit.
    private func stranger(_ endpoint: RedisEndpoint) async -> String? {
        async let greeting = RedisDiagnosis.firstBytes(of: endpoint, over: self.connector, on: self.loop).get()
        async let certificates = RedisDiagnosis.certificates(of: endpoint, over: self.connector, on: self.loop).get()
        let text = String(decoding: (try? await greeting) ?? [], as: UTF8.self)
        let speaksTLS = (try? await certificates) != nil
        if text.hasPrefix("HTTP/") { return "a web server answers there, not Redis: are host and port right?" }
        if text.hasPrefix("SSH-") { return "an SSH server answers there, not Redis: are host and port right?" }
        switch (isRedis: ["+PONG", "-"].contains { text.hasPrefix($0) }, isSecure: self.configuration.tls != nil) {
        case (true, true):
            return "it does not speak TLS there: write redis:// into the URL, or use its tls-port"
        case (false, false):
            if speaksTLS {
                return "it speaks TLS there: write rediss:// into the URL (tls=true for Sentinel and Cluster)"
            }
            return text.isEmpty ? nil : "the server there is not Redis: are host and port right?"
        case (true, false), (false, true):
            return nil
        }
    }
}
