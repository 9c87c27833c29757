import AddressIntelligence
package import Vocabulary

/// A condition on an event: comparisons of its fields, joined by `and`, `or` and `not`.
///
/// ```
/// any        = all *( "or" all )
/// all        = one *( "and" one )
/// one        = "not" one / "(" any ")" / "true" / "false" / comparison
/// comparison = operand ( "==" / "!=" ) operand / operand "in" ( list / field )
/// operand    = field / text / number / "true" / "false" / "missing"
/// list       = "[" constant *( "," constant ) "]"
/// ```
/// A missing field equals another missing field and the word `missing`, and differs from every value. An address is in
/// a list if it is in one of the list's blocks. Texts are compared byte by byte.
///
/// All errors are found when a condition is read. Applying it cannot fail, does not allocate without bounds, and
/// recurses no deeper than the nesting that `RuleParser.deepest` allows.
package struct RuleCondition: Sendable, Equatable {
    /// The maximum length of a condition, in Unicode scalars.
    package static let longest = 2048

    /// The condition as the operator wrote it.
    package let text: String
    let root: Node
    /// The fields in the condition, in order of appearance, with the number of Unicode scalars before each.
    package let fields: [(field: RuleField, offset: Int)]

    /// Reads a condition.
    package init(_ text: String) throws(RuleFault) {
        guard text.unicodeScalars.count <= Self.longest else {
            let allowed = "at most \(Self.longest) characters"
            throw RuleFault(offset: 0, found: "a longer condition", allowed: allowed, fix: "make several rules of it")
        }
        var parser = RuleParser(try RuleLexer.tokens(of: text))
        self.root = try parser.condition()
        self.fields = parser.fields
        self.text = text
    }

    package static func == (left: RuleCondition, right: RuleCondition) -> Bool { left.text == right.text }

    /// Returns whether the condition holds.
    package func applies(to event: JSONValue) -> Bool { self.root.holds(in: event) }

    /// One side of a comparison.
    enum Operand: Sendable {
        case field(RuleField)
        /// A constant. `null` represents the word `missing`.
        case constant(JSONValue)

        func value(in event: JSONValue) -> JSONValue {
            switch self {
            case .field(let field): field.value(in: event)
            case .constant(let value): value
            }
        }

        /// Returns the operand's value as an address. `nil` if it is not an address.
        func address(in event: JSONValue) -> IPAddress? { self.value(in: event).string.flatMap { IPAddress($0) } }
    }

    indirect enum Node: Sendable {
        case constant(Bool)
        case not(Node)
        case all([Node])
        case any([Node])
        case equal(Operand, Operand)
        case sameAddress(Operand, Operand)
        case isIn(Operand, [JSONValue])
        case isInBlocks(Operand, [CIDRBlock])
        case isInField(Operand, RuleField)

        func holds(in event: JSONValue) -> Bool {
            switch self {
            case .constant(let value): return value
            case .not(let node): return !node.holds(in: event)
            case .all(let nodes): return nodes.allSatisfy { $0.holds(in: event) }
            case .any(let nodes): return nodes.contains { $0.holds(in: event) }
            case .equal(let left, let right): return left.value(in: event).isSame(as: right.value(in: event))
            case .sameAddress(let left, let right):
                guard let one = left.address(in: event), let other = right.address(in: event) else {
                    return left.value(in: event).isSame(as: right.value(in: event))
                }
                return one == other
            case .isIn(let operand, let values):
                let value = operand.value(in: event)
                return values.contains { $0.isSame(as: value) }
            case .isInBlocks(let operand, let blocks):
                guard let address = operand.address(in: event) else { return false }
                return blocks.contains { $0.contains(address) }
            case .isInField(let operand, let field):
                guard case .array(let values) = field.value(in: event) else { return false }
                let value = operand.value(in: event)
                return value != .null && values.contains { $0.isSame(as: value) }
            }
        }
    }
}

extension JSONValue {
    /// Returns whether the values have the same type and are equal: texts by their bytes, numbers by their value.
    fileprivate func isSame(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.string(let left), .string(let right)): left.isExactly(right)
        case (.integer(let left), .number(let right)): Double(left) == right
        case (.number(let left), .integer(let right)): left == Double(right)
        default: self == other
        }
    }
}
