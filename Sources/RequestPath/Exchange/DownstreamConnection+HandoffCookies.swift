import Endpoints
import Handoff
import Settings
import Vocabulary

/// The cookies that bring transfer tokens: which of them still count, and how they go.
extension Exchange {
    /// The values of the handoff cookies that are not marked as dealt with, each once.
    func handoffCookies(
        _ head: RequestHead,
        _ base: Bytes,
        _ credentials: Credentials,
        _ host: HostEntry
    ) -> [Slice] {
        guard credentials.cookies.hasHandoff, let consumer = self.configuration.handoff, let line = head.line(.cookie)
        else { return [] }
        let values = self.configuration.cookies(of: host).handoffValues(in: head.fields[line].value, base)
        self.facts.handoffCookies = values.map { Array($0.bytes(in: base)) }
        guard let marks = credentials.cookies.handled?.bytes(in: base), marks.count <= HandoffConsumer.longestMarks
        else { return values }
        self.facts.handoffMarks = Array(marks)
        return zip(values, self.facts.handoffCookies).filter { !consumer.isMarked($1, in: marks) }.map(\.0)
    }

    /// Clears the request's handoff cookies, host-only and with the host as their domain, as apps set them either way, and
    /// marks their values: what our clearing does not reach is left alone when it comes back.
    func clearHandoffCookies() {
        guard let host = self.facts.host, let consumer = self.configuration.handoff else { return }
        let attributes = host.publicURL.isHTTPS ? "; Secure; HttpOnly; SameSite=None" : "; HttpOnly"
        for name in self.configuration.settings.handoff.cookieNames {
            self.addLine("Set-Cookie", "\(name)=; Path=/; Max-Age=0\(attributes)")
            self.addLine("Set-Cookie", "\(name)=; Path=/; Domain=\(host.publicURL.host); Max-Age=0\(attributes)")
        }
        let marks = consumer.marks(of: self.facts.handoffCookies, besides: self.facts.handoffMarks)
        self.addLine("Set-Cookie", self.configuration.handledCookie(of: host).setting(marks))
    }

    /// Clears session cookies of different value: none of them is used.
    func clearAmbiguousCookies(_ credentials: Credentials) {
        guard credentials.cookies.sessionIsAmbiguous, let host = self.facts.host else { return }
        self.addLine("Set-Cookie", self.configuration.sessionCookie(of: host).clearing())
        self.facts.note = .credentialAmbiguousCookie
    }
}
