import Cryptography

/// A Lua script and the name under which Redis keeps it.
package struct RedisScript: Sendable, Hashable {
    package let text: String
    /// The SHA-1 of the text, for `EVALSHA`.
    package let name: String
    /// The kind under which metrics count the script.
    package let kind: RedisMeter.Kind
    /// True if the script waits until a replica, if there is one, has confirmed its writes.
    package let isDurable: Bool

    package init(_ text: String, kind: RedisMeter.Kind = .other, isDurable: Bool = true) {
        self.text = text
        self.name = SHA1.hex(Array(text.utf8))
        self.kind = kind
        self.isDurable = isDurable
    }
}

/// One call of a script.
package struct ScriptCall: Sendable, Hashable {
    package let script: RedisScript
    /// The keys, all in one hash slot; never empty.
    package let keys: [[UInt8]]
    package let arguments: [[UInt8]]

    package init(_ script: RedisScript, keys: [[UInt8]], arguments: [[UInt8]]) {
        self.script = script
        self.keys = keys
        self.arguments = arguments
    }

    var byName: RedisCommand { RedisCommand("EVALSHA", self.tail(of: self.script.name)) }
    var byText: RedisCommand { RedisCommand("EVAL", self.tail(of: self.script.text)) }

    private func tail(of script: String) -> [[UInt8]] {
        [Array(script.utf8), Array("\(self.keys.count)".utf8)] + self.keys + self.arguments
    }
}
