import AddressIntelligence
import Testing

/// Makes MaxMind databases (format 2.0, records of 24 bits), valid ones and ones that no tool would write.
struct DatabaseImage {
    enum Value: Sendable {
        case text(String)
        case double(Double)
        case uint16(UInt16)
        case uint32(UInt32)
        case uint64(UInt64)
        case map([(String, Value)])
        case list([Value])
        /// Bytes that are written as they are.
        case raw([UInt8])

        var bytes: [UInt8] {
            switch self {
            case .text(let text):
                return [2 << 5 | UInt8(text.utf8.count)] + Array(text.utf8)
            case .double(let number):
                return [3 << 5 | 8] + (0..<8).map { UInt8(truncatingIfNeeded: number.bitPattern >> (56 - 8 * $0)) }
            case .uint16(let number):
                return Self.number(UInt64(number), control: [5 << 5])
            case .uint32(let number):
                return Self.number(UInt64(number), control: [6 << 5])
            case .uint64(let number):
                return Self.number(number, control: [0, 2])
            case .map(let members):
                return [7 << 5 | UInt8(members.count)] + members.flatMap { Value.text($0.0).bytes + $0.1.bytes }
            case .list(let elements):
                return [UInt8(elements.count), 4] + elements.flatMap(\.bytes)
            case .raw(let bytes):
                return bytes
            }
        }

        private static func number(_ number: UInt64, control: [UInt8]) -> [UInt8] {
            var digits: [UInt8] = []
            var rest = number
            while rest > 0 {
                digits.insert(UInt8(truncatingIfNeeded: rest), at: 0)
                rest >>= 8
            }
            var control = control
            control[0] |= UInt8(digits.count)
            return control + digits
        }
    }

    /// A record that has only a number.
    static func record(asn: Value) -> Value { .map([("autonomous_system_number", asn)]) }

    private enum Branch {
        case empty
        case node(Int)
        case record(offset: Int)
        /// A record of the tree with an arbitrary target.
        case wild(Int)
    }

    private var nodes: [[Branch]] = [[.empty, .empty]]
    private var records: [UInt8] = []
    private let isV4Only: Bool
    /// Members of the metadata that replace or extend the usual ones.
    var metadata: [(String, Value)] = []

    init(v4Only: Bool = false) {
        self.isV4Only = v4Only
    }

    /// Adds a network. IPv4 is stored at `::/96`, as in MaxMind's trees.
    mutating func add(_ network: String, _ value: Value) throws {
        let (bits, length) = try self.position(network)
        self.set(bits, length, .record(offset: self.records.count))
        self.records += value.bytes
    }

    /// Sets the tree's record for `network` to an arbitrary number.
    mutating func addWild(_ network: String, _ number: Int) throws {
        let (bits, length) = try self.position(network)
        self.set(bits, length, .wild(number))
    }

    /// Makes `network` an alias of the IPv4 part, as MaxMind does with 2002::/16.
    mutating func alias(_ network: String) throws {
        let (bits, length) = try self.position(network)
        self.set(bits, length, .node(self.node(at: 0, depth: 96)))
    }

    var bytes: [UInt8] {
        self.tree + [UInt8](repeating: 0, count: 16) + self.records + Self.marker + self.metadataMap.bytes
    }

    static let marker: [UInt8] = [0xAB, 0xCD, 0xEF] + Array("MaxMind.com".utf8)

    private var tree: [UInt8] {
        self.nodes.flatMap { branches in
            branches.flatMap { branch -> [UInt8] in
                let number =
                    switch branch {
                    case .empty: self.nodes.count
                    case .node(let index): index
                    case .record(let offset): self.nodes.count + 16 + offset
                    case .wild(let number): number
                    }
                return [UInt8(truncatingIfNeeded: number >> 16), UInt8(truncatingIfNeeded: number >> 8)]
                    + [UInt8(truncatingIfNeeded: number)]
            }
        }
    }

    private var metadataMap: Value {
        var members: [(String, Value)] = [
            ("node_count", .uint32(UInt32(self.nodes.count))),
            ("record_size", .uint16(24)),
            ("ip_version", .uint16(self.isV4Only ? 4 : 6)),
            ("database_type", .text("Test-ASN")),
            ("languages", .list([.text("en")])),
            ("binary_format_major_version", .uint16(2)),
            ("binary_format_minor_version", .uint16(0)),
            ("build_epoch", .uint64(1_700_000_000)),
            ("description", .map([("en", .text("made by a test"))])),
        ]
        for (name, value) in self.metadata {
            members.removeAll { $0.0 == name }
            members.append((name, value))
        }
        return .map(members)
    }

    private func position(_ network: String) throws -> (bits: UInt128, length: Int) {
        let block = try #require(CIDRBlock(network))
        guard let value = block.network.v4 else { return (block.network.bits, block.prefixLength) }
        return self.isV4Only
            ? (UInt128(value) << 96, block.prefixLength) : (UInt128(value), block.prefixLength + 96)
    }

    private mutating func set(_ bits: UInt128, _ length: Int, _ branch: Branch) {
        let parent = self.node(at: bits, depth: length - 1)
        self.nodes[parent][Self.side(bits, length - 1)] = branch
    }

    /// The node at `depth` branches, which is made if it is missing.
    private mutating func node(at bits: UInt128, depth: Int) -> Int {
        var index = 0
        for level in 0..<depth {
            let side = Self.side(bits, level)
            if case .node(let next) = self.nodes[index][side] {
                index = next
            } else {
                self.nodes.append([.empty, .empty])
                self.nodes[index][side] = .node(self.nodes.count - 1)
                index = self.nodes.count - 1
            }
        }
        return index
    }

    private static func side(_ bits: UInt128, _ level: Int) -> Int {
        Int(bits >> UInt128(127 - level) & 1)
    }
}
