package import Vocabulary

/// The reason why a Redis URL is rejected, in a sentence for operators. It never quotes the URL, because the URL may
/// contain a password.
package struct RedisURLError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
}

extension RedisConfiguration {
    /// Reads a URL in one of these forms:
    ///
    /// - `redis://[user:password@]host[:port][/database]`
    /// - `rediss://...`: as `redis://` over TLS, with `?ca=`, `cert=`, `key=` (paths of PEM files) and `server_name=`
    /// - `redis+unix://[user:password@]/path/of/socket[?db=database]`
    /// - `redis+sentinel://[user:password@]host[:port],host[:port].../name[/database]`: the sentinels (default port
    ///   26379) and their name for the primary; `sentinel_user` and `sentinel_password` are the credentials for the
    ///   sentinels
    /// - `redis+cluster://[user:password@]host[:port],host[:port]...`: some of the nodes; at least one must answer
    ///
    /// With `tls=true`, the last two forms accept the parameters of `rediss://`. User, password and values may be
    /// percent-encoded (RFC 3986 2.1). IPv6 addresses are written in brackets.
    package init(url: Secret) throws(RedisURLError) {
        guard let text = String(validating: url.bytes, as: UTF8.self),
            let separator = text.utf8.firstRange(of: "://".utf8)
        else {
            throw RedisURLError(description: "A Redis URL begins with a scheme: redis://, rediss://, ...")
        }
        let scheme = text[..<separator.lowerBound]
        var rest = text[separator.upperBound...]
        guard !rest.utf8.contains(UInt8(ascii: "#")), rest.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw RedisURLError(
                description: "A Redis URL cannot contain spaces, control characters or #: percent-encode them."
            )
        }
        var query: [String: String] = [:]
        if let mark = rest.firstIndex(of: "?") {
            query = try Self.query(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let path = rest[slash...]
        let (user, password, addresses) = try Self.credentials(rest[..<slash])
        let deployment: Deployment
        var database: Substring = ""
        var tls: TLS?
        switch scheme {
        case "redis", "rediss":
            deployment = .standalone(try Self.endpoint(addresses, defaultPort: 6379))
            database = path.dropFirst()
            if scheme == "rediss" { tls = try Self.tls(&query) }
        case "redis+unix":
            deployment = .standalone(try Self.socket(path, on: addresses))
            database = Substring(query.removeValue(forKey: "db") ?? "")
        case "redis+sentinel":
            let names = path.dropFirst().split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            deployment = .sentinel(try Self.sentinels(addresses, naming: names[0], &query))
            if names.count > 1 { database = names[1] }
            tls = try Self.optionalTLS(&query)
        case "redis+cluster":
            guard ["", "/", "/0"].contains(path) else {
                throw RedisURLError(description: "A Redis Cluster has only database 0: remove the path from the URL.")
            }
            deployment = .cluster(seeds: try Self.endpoints(addresses, defaultPort: 6379))
            tls = try Self.optionalTLS(&query)
        default:
            throw RedisURLError(
                description: "A Redis URL begins with redis://, rediss://, redis+unix://, redis+sentinel:// or "
                    + "redis+cluster://."
            )
        }
        // The parameter is not named, because it may be the rest of a password with an unencoded `?`.
        if !query.isEmpty {
            throw RedisURLError(
                description: "The Redis URL has a parameter unknown to \(scheme)://. Write a ? in a password as %3F."
            )
        }
        let number = try Self.database(database)
        self.init(deployment: deployment, tls: tls, user: user, password: password, database: number)
    }

    private static func sentinels(
        _ addresses: Substring,
        naming name: Substring,
        _ query: inout [String: String]
    ) throws(RedisURLError) -> Sentinels {
        guard !name.isEmpty else {
            throw RedisURLError(
                description: "A redis+sentinel:// URL names the primary after the sentinels: "
                    + "redis+sentinel://s1:26379,s2:26379/mymaster."
            )
        }
        let sentinels = Sentinels(
            endpoints: try Self.endpoints(addresses, defaultPort: 26_379),
            primaryName: try Self.decoded(name),
            user: query.removeValue(forKey: "sentinel_user"),
            password: query.removeValue(forKey: "sentinel_password").map { Secret($0) }
        )
        guard sentinels.user == nil || sentinels.password != nil else {
            throw RedisURLError(description: "The Redis URL has sentinel_user without sentinel_password: add it.")
        }
        return sentinels
    }

    private static func optionalTLS(_ query: inout [String: String]) throws(RedisURLError) -> TLS? {
        switch query.removeValue(forKey: "tls") {
        case nil, "false": return nil
        case "true": return try Self.tls(&query)
        default: throw RedisURLError(description: "The parameter tls of a Redis URL must be true or false.")
        }
    }

    private static func tls(_ query: inout [String: String]) throws(RedisURLError) -> TLS {
        let tls = TLS(
            authorityFile: query.removeValue(forKey: "ca"),
            certificateFile: query.removeValue(forKey: "cert"),
            keyFile: query.removeValue(forKey: "key"),
            serverName: query.removeValue(forKey: "server_name")
        )
        guard (tls.certificateFile == nil) == (tls.keyFile == nil) else {
            throw RedisURLError(description: "The Redis URL has only one of cert and key: give both.")
        }
        return tls
    }

    private static func socket(_ path: Substring, on host: Substring) throws(RedisURLError) -> RedisEndpoint {
        guard host.isEmpty, !path.isEmpty else {
            throw RedisURLError(
                description: "A redis+unix:// URL needs an absolute path, such as redis+unix:///run/redis.sock."
            )
        }
        let path = try Self.decoded(path)
        // `sun_path` has 108 bytes with its terminator.
        guard path.utf8.count <= 107, path.utf8.count > 1 else {
            throw RedisURLError(description: "The socket path of a redis+unix:// URL must have 2 to 107 bytes.")
        }
        return .unix(path: path)
    }

    private static func credentials(
        _ authority: Substring
    ) throws(RedisURLError) -> (user: String?, password: Secret?, address: Substring) {
        guard let at = authority.lastIndex(of: "@") else { return (nil, nil, authority) }
        let address = authority[authority.index(after: at)...]
        let userInfo = authority[..<at]
        guard !userInfo.utf8.contains(UInt8(ascii: "@")), let colon = userInfo.firstIndex(of: ":") else {
            throw RedisURLError(
                description:
                    "Write the credentials of a Redis URL as user:password@ or :password@, with %40 for an @ in them."
            )
        }
        let user = try Self.decoded(userInfo[..<colon])
        let password = try Self.decoded(userInfo[userInfo.index(after: colon)...])
        guard !password.isEmpty else { throw RedisURLError(description: "The password of the Redis URL is empty.") }
        return (user.isEmpty ? nil : user, Secret(password), address)
    }

    private static func endpoints(_ addresses: Substring, defaultPort: Int) throws(RedisURLError) -> [RedisEndpoint] {
        var endpoints: [RedisEndpoint] = []
        for address in addresses.split(separator: ",", omittingEmptySubsequences: false) {
            endpoints.append(try Self.endpoint(address, defaultPort: defaultPort))
        }
        return endpoints
    }

    private static func endpoint(_ address: Substring, defaultPort: Int) throws(RedisURLError) -> RedisEndpoint {
        var host = address
        var port: Substring?
        if address.first == "[" {
            guard let end = address.firstIndex(of: "]") else {
                throw RedisURLError(description: "The IPv6 address in the Redis URL has no closing bracket.")
            }
            host = address[address.index(after: address.startIndex)..<end]
            let after = address[address.index(after: end)...]
            guard after.isEmpty || after.first == ":" else {
                throw RedisURLError(description: "Only :port may follow the IPv6 address in the Redis URL.")
            }
            port = after.isEmpty ? nil : after.dropFirst()
        } else if let colon = address.lastIndex(of: ":") {
            host = address[..<colon]
            port = address[address.index(after: colon)...]
        }
        guard !host.isEmpty, address.first == "[" || !host.utf8.contains(UInt8(ascii: ":")),
            !host.utf8.contains(UInt8(ascii: "%"))
        else {
            throw RedisURLError(description: "The Redis URL names no host, or an IPv6 address without brackets.")
        }
        guard let port else { return .tcp(host: String(host), port: defaultPort) }
        guard let number = UInt16(port), number > 0, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw RedisURLError(description: "The port in the Redis URL must be a number from 1 to 65535.")
        }
        return .tcp(host: String(host), port: Int(number))
    }

    private static func database(_ text: Substring) throws(RedisURLError) -> Int {
        if text.isEmpty { return 0 }
        guard let number = Int(text), number >= 0, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw RedisURLError(description: "The database in the Redis URL must be a number.")
        }
        return number
    }

    private static func query(_ text: Substring) throws(RedisURLError) -> [String: String] {
        var query: [String: String] = [:]
        for part in text.split(separator: "&", omittingEmptySubsequences: false) {
            guard let equals = part.firstIndex(of: "=") else {
                throw RedisURLError(description: "Write the parameters of a Redis URL as name=value, separated by &.")
            }
            let name = String(part[..<equals])
            guard query.updateValue(try Self.decoded(part[part.index(after: equals)...]), forKey: name) == nil else {
                throw RedisURLError(description: "The Redis URL gives a parameter twice.")
            }
        }
        return query
    }

    private static func decoded(_ text: Substring) throws(RedisURLError) -> String {
        guard let bytes = PercentCoding.decoded(text.utf8, plusIsSpace: false) else {
            throw RedisURLError(
                description: "A percent sign in the Redis URL lacks two hexadecimal digits after it: write % as %25."
            )
        }
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            throw RedisURLError(description: "A percent-encoded part of the Redis URL is not UTF-8 text.")
        }
        return text
    }
}
