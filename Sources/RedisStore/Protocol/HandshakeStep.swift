/// A command that is sent on a new connection before anything else.
package struct HandshakeStep: Sendable, Hashable {
    package let command: RedisCommand
    /// True if every error reply ends the connection. Otherwise, only a farewell does
    /// (`RedisServerError.closesConnection`).
    package let isRequired: Bool

    package init(_ command: RedisCommand, isRequired: Bool = true) {
        self.command = command
        self.isRequired = isRequired
    }
}
