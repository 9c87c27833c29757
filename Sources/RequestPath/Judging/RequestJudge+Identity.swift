import Cryptography
import Sessions

/// Makes the field lines that identify the user to the app.
extension RequestJudge {
    /// Returns the lines about a session for the app of the route.
    @inline(__always)
    mutating func identity(
        of session: CachedSession,
        _ given: borrowing RoutedRequest
    ) throws(IdentityRefusal) -> IdentityLines {
        let lines = try Self.sessionLines(session, given)
        guard let signer = given.judging.identity.assertion else {
            return IdentityLines(session: lines, assertion: nil)
        }
        let generation = given.configuration.generation
        let audience = given.route.audienceIndex(on: given.host)
        if let kept = session.assertion(for: audience, at: given.wallNow, generation: generation) {
            self.findings.isAssertionDue = kept.isDue
            return IdentityLines(session: lines, assertion: kept.line)
        }
        let signed = signer.sign(
            session.session,
            for: given.route.audience(on: given.host),
            now: given.now,
            wallNow: given.wallNow
        )
        let all = IdentityLines(session: lines, assertion: signed.line)
        try given.judging.identity.checkSize(all.count)
        session.setAssertion(signed, at: given.wallNow, generation: generation)
        return all
    }

    /// Returns the lines that depend on the session alone, made once per session, loop and configuration.
    @inline(__always)
    private static func sessionLines(
        _ session: CachedSession,
        _ given: borrowing RoutedRequest
    ) throws(IdentityRefusal) -> ContiguousArray<UInt8> {
        let generation = given.configuration.generation
        if given.route.usesOtherEncoding { return try Self.otherLines(session, given) }
        if let ready = session.rendering(generation: generation) { return ready }
        let rendered = try given.judging.identity.render(session.session, tokens: session.tokens)
        session.setRendering(rendered, generation: generation)
        return rendered
    }

    /// Returns the lines in the encoding other than `identity.encoding`, made once per session, loop and configuration.
    @inline(never)
    private static func otherLines(
        _ session: CachedSession,
        _ given: borrowing RoutedRequest
    ) throws(IdentityRefusal) -> ContiguousArray<UInt8> {
        let generation = given.configuration.generation
        if let ready = session.otherRendering(generation: generation) { return ready }
        let identity = given.judging.identity
        let rendered = try identity.render(session.session, tokens: session.tokens, otherwise: true)
        session.setOtherRendering(rendered, generation: generation)
        return rendered
    }

    /// Adds the lines about the client's certificate to `identity`. They are not cached with the session, because its
    /// connections may have different certificates.
    static func adding(
        _ certificate: ClientCertificate,
        to identity: IdentityLines?,
        _ given: borrowing RoutedRequest
    ) throws(IdentityRefusal) -> IdentityLines? {
        let profile = given.judging.identity
        let lines = try profile.render(certificate, otherwise: given.route.usesOtherEncoding)
        guard !lines.isEmpty else { return identity }
        let all = IdentityLines(session: (identity?.session ?? []) + lines, assertion: identity?.assertion)
        try profile.checkSize(all.count)
        return all
    }
}
