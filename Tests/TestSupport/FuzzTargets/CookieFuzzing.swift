import RequestPath

/// Cookies and the query: ours are gone, all else is there.
enum CookieFuzzing {
    private static let cookies = OwnCookies(
        session: "s",
        handoff: ["h", "hh"],
        attempt: "s-a",
        handled: "s-d",
        provider: "p"
    )
    private static let parameter = HandoffParameter(name: "t_t")

    static func cookie(_ bytes: [UInt8]) -> String? {
        bytes.withExactCopy { base, count in
            let field = Slice(0, count)
            let found = self.cookies.find(in: field, base)
            if found.session.value != nil, found.session.isAmbiguous || !found.session.isThere {
                return "an ambiguous session counts"
            }
            if found.handoff.value != nil, found.handoff.isAmbiguous || !found.handoff.isThere {
                return "an ambiguous handoff counts"
            }
            if found.attempt.value != nil, found.attempt.isAmbiguous || !found.attempt.isThere {
                return "an ambiguous attempt counts"
            }
            if found.handled.value != nil, found.handled.isAmbiguous || !found.handled.isThere {
                return "an ambiguous mark counts"
            }
            if found.provider.value != nil, found.provider.isAmbiguous || !found.provider.isThere {
                return "an ambiguous cookie of the provider counts"
            }
            let values = self.cookies.handoffValues(in: field, base)
            if values.isEmpty == found.handoff.isThere || (values.count > 1) != found.handoff.isAmbiguous {
                return "the handoff cookies are others"
            }
            var kept: [UInt8] = []
            self.cookies.forEachForwardedRun(of: field, base, dropsHandoff: true, dropsProviderCookie: true) {
                kept += Array($0.bytes(in: base))
            }
            if self.pairs(kept) != self.pairs(bytes).filter({ !self.isOurs($0) }) {
                return "the kept cookies are others"
            }
            if found.session.isThere != self.pairs(bytes).contains(where: { $0.starts(with: "s=".utf8) }) {
                return "the session was not seen"
            }
            var query: [UInt8] = []
            self.parameter.forEachForwardedRun(of: field, base) { query += Array($0.bytes(in: base)) }
            let again = query.withExactCopy { self.parameter.find(in: Slice(0, $1), $0) }
            if again != nil { return "the parameter is still there" }
            if self.parameter.find(in: field, base) == nil, query != bytes {
                return "a query without the parameter was changed"
            }
            return nil
        }
    }

    /// The pairs without the spaces around them, and without empty ones.
    private static func pairs(_ bytes: [UInt8]) -> [[UInt8]] {
        bytes.split(separator: UInt8(ascii: ";")).map { pair in
            let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            return Array(pair.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
        }
        .filter { !$0.isEmpty }
    }

    private static func isOurs(_ pair: [UInt8]) -> Bool {
        ["s=", "h=", "hh=", "p="].contains { pair.starts(with: $0.utf8) }
            || pair.starts(with: "s-".utf8) && pair.contains(UInt8(ascii: "="))
    }
}
