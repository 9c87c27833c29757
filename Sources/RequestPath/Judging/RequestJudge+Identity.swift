import Sessions

/// Makes the lines that tell the app who the user is.
extension RequestJudge {
    /// The lines of a session for the app of the route.
    @inline(__always)
    mutating func identity(
        of session: CachedSession,
        _ given: RoutedRequest
    ) throws(IdentityRefusal) -> IdentityLines {
        let lines = try Self.sessionLines(session, given.configuration)
        guard let signer = given.configuration.identity.assertion else {
            return IdentityLines(session: lines, assertion: nil)
        }
        let generation = given.configuration.generation
        if let kept = session.assertion(for: given.route.audience.index, at: given.wallNow, generation: generation) {
            self.findings.isAssertionDue = kept.isDue
            return IdentityLines(session: lines, assertion: kept.line)
        }
        let signed = signer.sign(session.session, for: given.route.audience, now: given.now, wallNow: given.wallNow)
        let all = IdentityLines(session: lines, assertion: signed.line)
        try given.configuration.identity.checkSize(all.count)
        session.setAssertion(signed, at: given.wallNow, generation: generation)
        return all
    }

    /// The lines that depend on the session alone, made once per session, loop and configuration.
    @inline(__always)
    private static func sessionLines(
        _ session: CachedSession,
        _ configuration: PathConfiguration
    ) throws(IdentityRefusal) -> ContiguousArray<UInt8> {
        if let ready = session.rendering(generation: configuration.generation) { return ready }
        let rendered = try configuration.identity.render(session.session, tokens: session.tokens).get()
        session.setRendering(rendered, generation: configuration.generation)
        return rendered
    }
}
