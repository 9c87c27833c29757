/// Members of access lines that all requests of a connection share. They are encoded only once.
package struct AccessMembers: Sendable, Equatable {
    /// The encoded members: `,"name":"value",…`.
    private(set) var bytes: [UInt8] = []

    package init() {}

    /// Adds a member with arbitrary bytes, and escapes them.
    package mutating func add(_ name: StaticString, _ value: [UInt8]) {
        self.append { line in value.withUnsafeBytes { line.member(name, $0) } }
    }

    package mutating func add(_ name: StaticString, _ text: String) {
        self.append { $0.member(name, text) }
    }

    package mutating func add(_ name: StaticString, _ number: Int64) {
        self.append { $0.member(name, number) }
    }

    package mutating func add(_ name: StaticString, _ flag: Bool) {
        self.append { $0.member(name, flag) }
    }

    private mutating func append(_ write: (inout LineBuffer) -> Void) {
        var line = LineBuffer(capacity: 256)
        write(&line)
        self.bytes.append(contentsOf: line.bytes)
    }
}
