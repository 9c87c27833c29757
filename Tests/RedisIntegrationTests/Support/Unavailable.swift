import GatewayBench
import Testing

/// Expects a 503 with Retry-After that clears and sets no cookie.
func expectUnavailable(_ answer: Answer, _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
    let isTemporary = answer.status == 503 && answer.value("retry-after").flatMap { Int($0) } != nil
    #expect(isTemporary, "\(what): \(answer.lines)", sourceLocation: sourceLocation)
    let takesNothing = answer.clearedCookies.isEmpty && answer.sessionCookie == nil
    #expect(takesNothing, "\(what): \(answer.lines)", sourceLocation: sourceLocation)
}
