/// The kind of right that an ACL has denied.
package enum RedisDenial: Sendable, Hashable {
    case command
    case key
    case channel
}

extension RedisServerError {
    /// The right that the gateway's user lacks according to this error; `nil` if the error is about something else.
    ///
    /// Redis checks commands before keys and channels. Only the error's text shows which right is missing: `... to run
    /// the 'get' command`, `... to access one of the keys used as arguments` (since 7.2 `access a key`). Before 7.2,
    /// the denial of a script's command is a plain `ERR` whose text begins with `The user executing the script can't`.
    package var denial: RedisDenial? {
        let text = self.message.utf8
        let isOfScript = self.code == "ERR" && text.contains("user executing the script can't".utf8)
        guard self.code == "NOPERM" || isOfScript || self.code == "ERR" && text.contains(" -NOPERM ".utf8) else {
            return nil
        }
        if text.contains("to run the".utf8) || text.contains("run this command".utf8) { return .command }
        if text.contains("channel".utf8) { return .channel }
        return text.contains(" key".utf8) ? .key : .command
    }
}
