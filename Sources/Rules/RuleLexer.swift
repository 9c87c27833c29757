/// A token of a condition.
struct RuleToken: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// A name such as `event.request.ip`, or an unknown word.
        case name(String)
        case text(String)
        case number(Double)
        case and, or, not, isIn
        case yes, no, missing
        case equal, unequal
        case openParenthesis, closeParenthesis, openBracket, closeBracket, comma
        case end
    }

    var kind: Kind
    /// The number of Unicode scalars before the token.
    var offset: Int

    /// A description of the token, for a message.
    var shown: String {
        switch self.kind {
        case .name(let name): String(name.prefix(80))
        case .text: "a text"
        case .number: "a number"
        case .and: "and"
        case .or: "or"
        case .not: "not"
        case .isIn: "in"
        case .yes: "true"
        case .no: "false"
        case .missing: "missing"
        case .equal: "=="
        case .unequal: "!="
        case .openParenthesis: "("
        case .closeParenthesis: ")"
        case .openBracket: "["
        case .closeBracket: "]"
        case .comma: ","
        case .end: "the end"
        }
    }
}

/// Splits a condition into tokens.
struct RuleLexer {
    private static let words: [String: RuleToken.Kind] = [
        "and": .and, "or": .or, "not": .not, "in": .isIn, "true": .yes, "false": .no, "missing": .missing,
    ]
    /// The operators of other languages, with advice on what to write instead.
    private static let foreign: [(sign: String, fix: String)] = [
        ("===", "write =="), ("!==", "write !="), ("&&", "write and"), ("||", "write or"), ("=", "write =="),
        ("!", "write not"),
    ]

    private let scalars: [Unicode.Scalar]
    private var position = 0

    /// Returns the tokens of `text`, terminated by `end`.
    static func tokens(of text: String) throws(RuleFault) -> [RuleToken] {
        var lexer = RuleLexer(scalars: Array(text.unicodeScalars))
        var tokens: [RuleToken] = []
        repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
        return tokens
    }

    private init(scalars: [Unicode.Scalar]) {
        self.scalars = scalars
    }

    private func peek(_ ahead: Int = 0) -> Unicode.Scalar? {
        let index = self.position + ahead
        return index < self.scalars.count ? self.scalars[index] : nil
    }

    private mutating func next() throws(RuleFault) -> RuleToken {
        while let blank = self.peek(), blank == " " || blank == "\t" { self.position += 1 }
        let start = self.position
        guard let first = self.peek() else { return RuleToken(kind: .end, offset: start) }
        if first == "\"" || first == "'" { return RuleToken(kind: try self.text(until: first), offset: start) }
        if Self.isDigit(first) || (first == "-" && self.peek(1).map(Self.isDigit) == true) {
            return RuleToken(kind: try self.number(), offset: start)
        }
        if Self.isLetter(first) {
            let name = self.run { Self.isLetter($0) || Self.isDigit($0) || $0 == "." || $0 == "-" }
            return RuleToken(kind: Self.words[name] ?? .name(name), offset: start)
        }
        for (sign, fix) in Self.foreign.prefix(2) where self.begins(with: sign) {
            throw RuleFault(offset: start, found: sign, allowed: "== or !=", fix: fix)
        }
        let kind: RuleToken.Kind
        switch first {
        case "(": kind = .openParenthesis
        case ")": kind = .closeParenthesis
        case "[": kind = .openBracket
        case "]": kind = .closeBracket
        case ",": kind = .comma
        case "=" where self.peek(1) == "=", "!" where self.peek(1) == "=":
            self.position += 1
            kind = first == "=" ? .equal : .unequal
        default:
            let allowed = "==, !=, in, and, or, not, parentheses, fields and constants"
            if let (sign, fix) = Self.foreign.first(where: { self.begins(with: $0.sign) }) {
                throw RuleFault(offset: start, found: sign, allowed: allowed, fix: fix)
            }
            throw RuleFault(offset: start, found: "an unknown sign", allowed: allowed, fix: "put a text in quotes")
        }
        self.position += 1
        return RuleToken(kind: kind, offset: start)
    }

    private func begins(with sign: String) -> Bool {
        self.scalars[self.position...].starts(with: sign.unicodeScalars)
    }

    private mutating func run(_ belongs: (Unicode.Scalar) -> Bool) -> String {
        var run = String.UnicodeScalarView()
        while let scalar = self.peek(), belongs(scalar) {
            run.append(scalar)
            self.position += 1
        }
        return String(run)
    }

    private mutating func text(until quote: Unicode.Scalar) throws(RuleFault) -> RuleToken.Kind {
        let start = self.position
        var text = String.UnicodeScalarView()
        self.position += 1
        while let scalar = self.peek() {
            self.position += 1
            if scalar == quote { return .text(String(text)) }
            guard scalar == "\\" else {
                text.append(scalar)
                continue
            }
            guard let escaped = self.peek(), escaped == quote || escaped == "\\" else {
                let allowed = "\\\\ for a backslash and \\\(quote) for a quote"
                throw RuleFault(offset: self.position - 1, found: "a backslash", allowed: allowed, fix: "write \\\\")
            }
            text.append(escaped)
            self.position += 1
        }
        throw RuleFault(
            offset: start,
            found: "a text without an end",
            allowed: "a text in quotes",
            fix: "add \(quote)"
        )
    }

    private mutating func number() throws(RuleFault) -> RuleToken.Kind {
        let start = self.position
        let text = self.run { Self.isDigit($0) || Self.isLetter($0) || $0 == "." || $0 == "-" }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let isNumber = parts.count <= 2 && parts.allSatisfy { !$0.isEmpty } && text.utf8.count <= 32
        guard isNumber, text.dropFirst().utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }),
            let value = Double(text), value.isFinite
        else {
            let allowed = "a number such as 7 or 51.5"
            throw RuleFault(offset: start, found: text, allowed: allowed, fix: "put a text or an address in quotes")
        }
        return .number(value)
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_"
    }
}
