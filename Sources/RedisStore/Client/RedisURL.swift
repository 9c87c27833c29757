package import Vocabulary

/// Why a Redis URL is refused, in a sentence for whoever wrote it. It never quotes the URL, which may hold a password.
package struct RedisURLError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
}

extension RedisConfiguration {
    /// Reads a URL:
    ///
    /// - `redis://[user:password@]host[:port][/database]`
    /// - `rediss://...`, the same over TLS, with `?ca=`, `cert=`, `key=` (paths of PEM files) and `server_name=`
    /// - `redis+unix://[user:password@]/path/of/socket[?db=database]`
    ///
    /// User, password and values may be percent-encoded (RFC 3986 2.1); IPv6 addresses stand in brackets.
    package init(url: Secret) throws(RedisURLError) {
        guard let text = String(validating: url.bytes, as: UTF8.self), let separator = text.firstRange(of: "://") else {
            throw RedisURLError(description: "A Redis URL begins with redis://, rediss:// or redis+unix://.")
        }
        let scheme = text[..<separator.lowerBound]
        var rest = text[separator.upperBound...]
        guard !rest.contains("#"), rest.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw RedisURLError(
                description: "A Redis URL holds neither spaces nor control characters nor #: percent-encode them."
            )
        }
        var query: [String: String] = [:]
        if let mark = rest.firstIndex(of: "?") {
            query = try Self.query(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        switch scheme {
        case "redis", "rediss": self = try Self.overTCP(rest, isSecure: scheme == "rediss", query: &query)
        case "redis+unix": self = try Self.overUnixSocket(rest, query: &query)
        case "redis+sentinel", "redis+cluster":
            throw RedisURLError(
                description: "\(scheme):// is not supported yet: name one server with redis:// or rediss://."
            )
        default:
            throw RedisURLError(description: "A Redis URL begins with redis://, rediss:// or redis+unix://.")
        }
        if let unknown = query.keys.sorted().first {
            throw RedisURLError(
                description: "The Redis URL has a parameter that is unknown for \(scheme)://: \(unknown)."
            )
        }
    }

    private static func overTCP(
        _ rest: Substring,
        isSecure: Bool,
        query: inout [String: String]
    ) throws(RedisURLError) -> RedisConfiguration {
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let (user, password, address) = try Self.credentials(rest[..<slash])
        let (host, port) = try Self.hostAndPort(address)
        var configuration = RedisConfiguration(endpoint: .tcp(host: host, port: port), user: user, password: password)
        configuration.database = try Self.database(rest[slash...].dropFirst())
        guard isSecure else { return configuration }
        let tls = TLS(
            authorityFile: query.removeValue(forKey: "ca"),
            certificateFile: query.removeValue(forKey: "cert"),
            keyFile: query.removeValue(forKey: "key"),
            serverName: query.removeValue(forKey: "server_name")
        )
        guard (tls.certificateFile == nil) == (tls.keyFile == nil) else {
            throw RedisURLError(description: "In a Redis URL, cert and key go together.")
        }
        configuration.tls = tls
        return configuration
    }

    private static func overUnixSocket(
        _ rest: Substring,
        query: inout [String: String]
    ) throws(RedisURLError) -> RedisConfiguration {
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let (user, password, address) = try Self.credentials(rest[..<slash])
        guard address.isEmpty, slash != rest.endIndex else {
            throw RedisURLError(
                description: "A redis+unix:// URL names an absolute path: redis+unix:///run/redis.sock."
            )
        }
        let path = try Self.decoded(rest[slash...])
        // `sun_path` has 108 bytes with its terminator.
        guard path.utf8.count <= 107, path.utf8.count > 1 else {
            throw RedisURLError(description: "The socket path of a redis+unix:// URL has 2 to 107 bytes.")
        }
        var configuration = RedisConfiguration(endpoint: .unix(path: path), user: user, password: password)
        configuration.database = try Self.database(Substring(query.removeValue(forKey: "db") ?? ""))
        return configuration
    }

    private static func credentials(
        _ authority: Substring
    ) throws(RedisURLError) -> (user: String?, password: Secret?, address: Substring) {
        guard let at = authority.lastIndex(of: "@") else { return (nil, nil, authority) }
        let address = authority[authority.index(after: at)...]
        let userInfo = authority[..<at]
        guard !userInfo.contains("@"), let colon = userInfo.firstIndex(of: ":") else {
            throw RedisURLError(description: "The credentials of a Redis URL are user:password@ or :password@.")
        }
        let user = try Self.decoded(userInfo[..<colon])
        let password = try Self.decoded(userInfo[userInfo.index(after: colon)...])
        guard !password.isEmpty else { throw RedisURLError(description: "The password of the Redis URL is empty.") }
        return (user.isEmpty ? nil : user, Secret(password), address)
    }

    private static func hostAndPort(_ address: Substring) throws(RedisURLError) -> (host: String, port: Int) {
        var host = address
        var port: Substring?
        if address.first == "[" {
            guard let end = address.firstIndex(of: "]") else {
                throw RedisURLError(description: "The IPv6 address of the Redis URL lacks its closing bracket.")
            }
            host = address[address.index(after: address.startIndex)..<end]
            let after = address[address.index(after: end)...]
            guard after.isEmpty || after.first == ":" else {
                throw RedisURLError(description: "Only :port may follow the IPv6 address of the Redis URL.")
            }
            port = after.isEmpty ? nil : after.dropFirst()
        } else if let colon = address.lastIndex(of: ":") {
            host = address[..<colon]
            port = address[address.index(after: colon)...]
        }
        guard !host.isEmpty, address.first == "[" || !host.contains(":"), !host.contains("%") else {
            throw RedisURLError(description: "The Redis URL names no host, or an IPv6 address without brackets.")
        }
        guard let port else { return (String(host), 6379) }
        guard let number = UInt16(port), number > 0, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw RedisURLError(description: "The port of the Redis URL is not a number from 1 to 65535.")
        }
        return (String(host), Int(number))
    }

    private static func database(_ text: Substring) throws(RedisURLError) -> Int {
        if text.isEmpty { return 0 }
        guard let number = Int(text), number >= 0, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw RedisURLError(description: "The database of the Redis URL is not a number.")
        }
        return number
    }

    private static func query(_ text: Substring) throws(RedisURLError) -> [String: String] {
        var query: [String: String] = [:]
        for part in text.split(separator: "&", omittingEmptySubsequences: false) {
            guard let equals = part.firstIndex(of: "=") else {
                throw RedisURLError(description: "The parameters of a Redis URL are name=value, joined by &.")
            }
            let name = String(part[..<equals])
            guard query.updateValue(try Self.decoded(part[part.index(after: equals)...]), forKey: name) == nil else {
                throw RedisURLError(description: "The Redis URL gives the parameter \(name) twice.")
            }
        }
        return query
    }

    private static func decoded(_ text: Substring) throws(RedisURLError) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst(), let low = rest.popFirst(),
                let highDigit = Character(UnicodeScalar(high)).hexDigitValue,
                let lowDigit = Character(UnicodeScalar(low)).hexDigitValue
            else {
                throw RedisURLError(description: "A percent sign in the Redis URL lacks its two hexadecimal digits.")
            }
            bytes.append(UInt8(highDigit << 4 | lowDigit))
        }
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            throw RedisURLError(description: "A percent-encoded part of the Redis URL is not UTF-8 text.")
        }
        return text
    }
}
