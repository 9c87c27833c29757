import AddressIntelligence
import Vocabulary

/// Reads the tokens of a condition by recursive descent, and checks the types of its comparisons.
struct RuleParser {
    typealias Node = RuleCondition.Node
    typealias Operand = RuleCondition.Operand

    /// The maximum nesting depth of parentheses and `not`.
    static let deepest = 32

    private let tokens: [RuleToken]
    private var position = 0
    private(set) var fields: [(field: RuleField, offset: Int)] = []

    /// - Parameter tokens: The tokens, terminated by `end`.
    init(_ tokens: [RuleToken]) {
        self.tokens = tokens
    }

    mutating func condition() throws(RuleFault) -> Node {
        let node = try self.any(depth: 0)
        guard self.next.kind == .end else {
            throw self.fault(self.next, allowed: "and, or, or the end", fix: "join comparisons by and or or")
        }
        return node
    }

    private var next: RuleToken { self.tokens[self.position] }

    private mutating func take() -> RuleToken {
        let token = self.next
        if token.kind != .end { self.position += 1 }
        return token
    }

    private mutating func skip(_ kind: RuleToken.Kind) -> Bool {
        guard self.next.kind == kind else { return false }
        self.position += 1
        return true
    }

    private func fault(_ token: RuleToken, allowed: String, fix: String) -> RuleFault {
        RuleFault(offset: token.offset, found: token.shown, allowed: allowed, fix: fix)
    }

    // MARK: Conditions

    private mutating func any(depth: Int) throws(RuleFault) -> Node {
        var nodes = [try self.all(depth: depth)]
        while self.skip(.or) { nodes.append(try self.all(depth: depth)) }
        return nodes.count == 1 ? nodes[0] : .any(nodes)
    }

    private mutating func all(depth: Int) throws(RuleFault) -> Node {
        var nodes = [try self.one(depth: depth)]
        while self.skip(.and) { nodes.append(try self.one(depth: depth)) }
        return nodes.count == 1 ? nodes[0] : .all(nodes)
    }

    private mutating func one(depth: Int) throws(RuleFault) -> Node {
        guard depth <= Self.deepest else {
            let allowed = "at most \(Self.deepest) levels of not and parentheses"
            throw self.fault(self.next, allowed: allowed, fix: "make several rules of it")
        }
        if self.skip(.not) { return .not(try self.one(depth: depth + 1)) }
        guard self.skip(.openParenthesis) else { return try self.comparison() }
        let node = try self.any(depth: depth + 1)
        guard self.skip(.closeParenthesis) else {
            throw self.fault(self.next, allowed: "and, or, or a closing parenthesis", fix: "add )")
        }
        return node
    }

    // MARK: Comparisons

    /// An operand with its type and its offset in the condition.
    private struct Side {
        let operand: Operand
        let type: RuleType
        let offset: Int

        var isConstant: Bool { if case .constant = self.operand { true } else { false } }

        var text: String? { if case .constant(.string(let text)) = self.operand { text } else { nil } }
    }

    private mutating func comparison() throws(RuleFault) -> Node {
        let left = try self.side()
        switch self.next.kind {
        case .equal:
            self.position += 1
            return try self.equality(left, try self.side())
        case .unequal:
            self.position += 1
            return .not(try self.equality(left, try self.side()))
        case .isIn:
            self.position += 1
            return try self.membership(left)
        default:
            if case .constant(.bool(let value)) = left.operand { return .constant(value) }
            throw self.fault(
                self.next,
                allowed: "==, != or in after a field or constant",
                fix: left.type == .any ? "compare it, e.g. with == true" : "compare it with something"
            )
        }
    }

    private mutating func side() throws(RuleFault) -> Side {
        let token = self.take()
        if case .name(let name) = token.kind {
            guard let field = RuleField(named: name) else {
                throw RuleFault(
                    offset: token.offset,
                    found: "the unknown field \(token.shown)",
                    allowed: "a field of the event",
                    fix: RuleField.fix(of: name)
                )
            }
            self.fields.append((field, token.offset))
            return Side(operand: .field(field), type: field.type, offset: token.offset)
        }
        guard let (value, type) = Self.constant(token.kind) else {
            throw self.fault(token, allowed: "a field or a constant", fix: "write e.g. event.request.ip or \"text\"")
        }
        return Side(operand: .constant(value), type: type, offset: token.offset)
    }

    private static func constant(_ kind: RuleToken.Kind) -> (JSONValue, RuleType)? {
        switch kind {
        case .text(let text): (.string(text), .text)
        case .number(let number): (.number(number), .number)
        case .yes: (.bool(true), .boolean)
        case .no: (.bool(false), .boolean)
        case .missing: (.null, .missing)
        default: nil
        }
    }

    private func equality(_ left: Side, _ right: Side) throws(RuleFault) -> Node {
        if left.isConstant, right.isConstant { throw Self.constants(at: left.offset) }
        for side in [left, right] where side.type == .texts {
            throw RuleFault(
                offset: side.offset,
                found: "a comparison of a list",
                allowed: "one of its elements",
                fix: "write \"...\" in and then the list"
            )
        }
        if left.type == .missing || right.type == .missing { return .equal(left.operand, right.operand) }
        for (address, other) in [(left, right), (right, left)] where address.type == .address {
            if let text = other.text {
                guard IPAddress(text) != nil else {
                    throw RuleFault(
                        offset: other.offset,
                        found: "a text that is no address",
                        allowed: "an address such as \"192.0.2.1\"",
                        fix: CIDRBlock(text) == nil ? "correct it" : "write in [\"\(text)\"] for a block of addresses"
                    )
                }
                return .sameAddress(left.operand, right.operand)
            }
            if other.type == .address || other.type == .any { return .sameAddress(left.operand, right.operand) }
        }
        guard left.type == right.type || left.type == .any || right.type == .any else {
            throw Self.unlike(left.type, right.type, at: right.offset)
        }
        return .equal(left.operand, right.operand)
    }

    private mutating func membership(_ left: Side) throws(RuleFault) -> Node {
        guard self.skip(.openBracket) else {
            let right = try self.side()
            guard case .field(let list) = right.operand, list.type == .texts || list.type == .any else {
                throw RuleFault(
                    offset: right.offset,
                    found: right.type.rawValue,
                    allowed: "a list in brackets, or a field that is a list",
                    fix: "write [ and ] around it, or == for in"
                )
            }
            guard left.type == .text || left.type == .any || (list.type == .any && left.type != .address) else {
                throw Self.unlike(left.type, list.type, at: left.offset)
            }
            guard left.type != .missing, left.type != .texts else {
                throw Self.unlike(left.type, .any, at: left.offset)
            }
            return .isInField(left.operand, list)
        }
        let elements = try self.elements()
        guard !left.isConstant else { throw Self.constants(at: left.offset) }
        guard left.type != .address else {
            var blocks: [CIDRBlock] = []
            for element in elements {
                guard let block = element.text.flatMap({ CIDRBlock($0) }) else {
                    throw RuleFault(
                        offset: element.offset,
                        found: element.text == nil ? element.type.rawValue : "a text that is no block of addresses",
                        allowed: "an address or a block such as \"10.0.0.0/8\" or \"2001:db8::/32\"",
                        fix: "check the address and the length; all bits after the length must be 0"
                    )
                }
                blocks.append(block)
            }
            return .isInBlocks(left.operand, blocks)
        }
        var values: [JSONValue] = []
        for element in elements {
            guard left.type == .any || left.type == element.type else {
                throw Self.unlike(left.type, element.type, at: element.offset)
            }
            if case .constant(let value) = element.operand { values.append(value) }
        }
        return .isIn(left.operand, values)
    }

    /// Reads the constants of a list, after its opening bracket.
    private mutating func elements() throws(RuleFault) -> [Side] {
        var elements: [Side] = []
        repeat {
            let token = self.take()
            guard let (value, type) = Self.constant(token.kind), type != .missing else {
                throw self.fault(
                    token,
                    allowed: "texts, numbers, true or false in a list",
                    fix: "put a text in quotes"
                )
            }
            elements.append(Side(operand: .constant(value), type: type, offset: token.offset))
        } while self.skip(.comma)
        guard self.skip(.closeBracket) else {
            throw self.fault(self.next, allowed: "a comma or a closing bracket", fix: "add ]")
        }
        return elements
    }

    private static func constants(at offset: Int) -> RuleFault {
        RuleFault(
            offset: offset,
            found: "a comparison of constants",
            allowed: "a field on one side",
            fix: "write the name of a field, which begins with event., without quotes"
        )
    }

    private static func unlike(_ left: RuleType, _ right: RuleType, at offset: Int) -> RuleFault {
        RuleFault(
            offset: offset,
            found: "\(left.rawValue) compared with \(right.rawValue)",
            allowed: "values of the same type",
            fix: left == .text && right == .number
                ? "put the number in quotes: asn and ids are texts" : "compare it with another value"
        )
    }
}
