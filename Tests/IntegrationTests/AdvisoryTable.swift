/// A mistake of another gateway, or a threat from the gateway's own model, and what prevents it here.
///
/// Comments and names of tests cite rows by their id, and `CitationTests` looks each citation up.
struct Advisory: Sendable {
    /// A CVE or GHSA id; a thread of the other project (`oathkeeper#1269`); else `P` and a number for a mistake that has
    /// neither, or `T` and a number for a row of the threat model. The numbers have gaps.
    var id: String
    /// The mistake or the threat in a sentence.
    var about: String
    /// The display names of the tests that cover it, in any target.
    var tests: [String] = []
    /// Why it cannot happen here.
    var reason: String?

    static let table =
        Self.fields + Self.paths + Self.trust + Self.caches + Self.protocols + Self.threats + Self.tokens
        + Self.signIn + Self.http2
}
