import Vocabulary

extension TextRule {
    /// The paths of a route: exact, `prefix/**` for all paths below, `*` for one segment.
    static let pathPattern = TextRule(
        "pattern",
        allowed: "a path such as /about, /users/*/photo or /api/**",
        pattern: "^/"
    ) { written throws(SyntaxFault) in
        guard written.first == "/" else { throw SyntaxFault("begin with /") }
        guard written.utf8.count <= 1024 else { throw SyntaxFault("write a shorter path") }
        // Routes are compared with the decoded path of a request.
        let text = try Self.decoded(pattern: written)
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && !"%?#;\\".utf8.contains($0) }) else {
            throw SyntaxFault("write a path without ?, #, ;, \\ and %, which no route can have")
        }
        let segments = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            guard !segment.isEmpty || isLast else { throw SyntaxFault("write one / instead of several") }
            guard segment != ".", segment != ".." else { throw SyntaxFault("remove the segments . and ..") }
            if segment == "**" {
                guard isLast else { throw SyntaxFault("use ** only as the last segment") }
            } else if segment.contains("*"), segment != "*" {
                throw SyntaxFault("use * only as a whole segment")
            }
        }
        guard segments.first != ".sallyport" else {
            throw SyntaxFault("choose another path: /.sallyport belongs to the gateway on every host")
        }
        return .text(text)
    }

    /// Decodes the escapes of a pattern: `/%C3%BC/**` becomes `/ü/**`.
    ///
    /// - Throws: If an escape is malformed or not UTF-8, or encodes `/` (apps read it in two ways) or `*` (a wildcard).
    private static func decoded(pattern: String) throws(SyntaxFault) -> String {
        guard pattern.utf8.contains(UInt8(ascii: "%")) else { return pattern }
        let plain = pattern.utf8.filter { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "*") }.count
        guard let bytes = PercentCoding.decoded(pattern.utf8, plusIsSpace: false),
            let text = String(validating: bytes, as: UTF8.self), !text.isDamaged,
            text.utf8.filter({ $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "*") }).count == plain
        else { throw SyntaxFault("write each escape as % and two digits of UTF-8, and none for / or *") }
        return text
    }

    /// A path as in a request, with its query.
    static let requestPath = TextRule(
        "path",
        allowed: "a path such as /healthz or /health?full=1",
        pattern: "^/[A-Za-z0-9/?._~%!$&'()*+,;=:@-]*$"
    ) { text throws(SyntaxFault) in
        guard text.first == "/" else { throw SyntaxFault("begin with /") }
        guard text.utf8.count <= 1024 else { throw SyntaxFault("write a shorter path") }
        guard text.utf8.allSatisfy({ $0.isUnreserved || "/?%!$&'()*+,;=:@".utf8.contains($0) }) else {
            throw SyntaxFault("percent-encode all but letters, digits and /?._~%!$&'()*+,;=:@-")
        }
        return .text(text)
    }

    /// The beginning of a path. Only unreserved characters are allowed, because paths are compared byte by byte.
    static let pathPrefix = TextRule(
        "path prefix",
        allowed: "the beginning of a path such as /app or /api/v2",
        pattern: "^(/[A-Za-z0-9._~-]+)+$"
    ) { text throws(SyntaxFault) in
        guard text.first == "/" else { throw SyntaxFault("begin with /") }
        guard text.utf8.count <= 256 else { throw SyntaxFault("write a shorter one") }
        let segments = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        guard segments.allSatisfy({ !$0.isEmpty }) else {
            throw SyntaxFault("write a name after each /, and no / at the end")
        }
        guard text.utf8.allSatisfy({ $0.isUnreserved || $0 == UInt8(ascii: "/") }) else {
            throw SyntaxFault("use letters, digits, - . _ and ~")
        }
        guard !segments.contains(where: { $0.first == "." && $0.allSatisfy { $0 == "." } }) else {
            throw SyntaxFault("remove the segments . and ..")
        }
        return .text(text)
    }
}
