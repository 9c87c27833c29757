import AddressIntelligence
import Vocabulary

/// A variable that Kubernetes sets in each container for a service of the namespace ("service link"). For the service
/// `sallyport-redis`, it sets `SALLYPORT_REDIS_SERVICE_HOST`, which looks like a setting of the gateway.
///
/// A misspelt setting must not be ignored as a service link. Both name and value must therefore have the right form.
///
/// | rest of the name | value |
/// |---|---|
/// | `_SERVICE_HOST` | address |
/// | `_SERVICE_PORT`, `_SERVICE_PORT_<PORT'S NAME>` | number |
/// | `_PORT`, `_PORT_<n>_<TCP, UDP or SCTP>` | `tcp://<address>:<number>` |
/// | `_PORT_<n>_<TCP, UDP or SCTP>_{PROTO,PORT,ADDR}` | `tcp`, the number, address |
enum ServiceLink {
    private static let transports = ["TCP", "UDP", "SCTP"]
    /// The name of a service's port is a DNS label (RFC 1123 2.1).
    private static let longestPortName = 63

    /// Returns whether a variable is a service link. `name` begins with the name of a service.
    static func matches(_ name: String, _ value: String) -> Bool {
        let parts = name.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.allSatisfy({ $0.utf8.allSatisfy { $0.isAlphanumeric && !(0x61...0x7A).contains($0) } }) else {
            return false
        }
        // The service's name may itself contain `SERVICE` or `PORT`, so every split into name and rest is tried.
        return parts.indices.dropFirst().contains { index in
            !parts[index - 1].isEmpty && Self.isRest(parts[index...], value)
        }
    }

    private static func isRest(_ parts: ArraySlice<Substring>, _ value: String) -> Bool {
        let rest = Array(parts)
        switch (rest[0], rest.count) {
        case ("SERVICE", 2) where rest[1] == "HOST": return IPAddress(value) != nil
        case ("SERVICE", 2...) where rest[1] == "PORT":
            return Self.isNumber(value) && (rest.count == 2 || Self.isPortName(rest[2...]))
        case ("PORT", 1):
            return Self.transports.contains { Self.isURL(value, of: $0, port: nil) }
        case ("PORT", 3...4):
            let (port, transport) = (rest[1], rest[2])
            guard Self.isNumber(port), Self.transports.contains(String(transport)) else { return false }
            guard rest.count == 4 else { return Self.isURL(value, of: String(transport), port: port) }
            switch rest[3] {
            case "PROTO": return value == transport.lowercased()
            case "PORT": return value == port
            case "ADDR": return IPAddress(value) != nil
            default: return false
            }
        default: return false
        }
    }

    /// Returns whether the parts are the name of a port: letters, digits and inner hyphens (`_` here). Old kubelets
    /// write a `_` before a leading digit.
    private static func isPortName(_ parts: ArraySlice<Substring>) -> Bool {
        let words = parts.first?.isEmpty == true && parts.count > 1 ? parts.dropFirst() : parts
        return words.joined(separator: "_").utf8.count <= Self.longestPortName
            && words.first?.isEmpty == false && words.last?.isEmpty == false
    }

    /// Returns whether a value is a URL such as `tcp://10.0.0.1:6379` or `tcp://[fd00::1]:6379`.
    private static func isURL(_ value: String, of transport: String, port: Substring?) -> Bool {
        let scheme = transport.lowercased() + "://"
        guard value.hasPrefix(scheme) else { return false }
        let authority = value.dropFirst(scheme.utf8.count)
        guard let colon = authority.lastIndex(of: ":") else { return false }
        let (host, number) = (authority[..<colon], authority[authority.index(after: colon)...])
        guard Self.isNumber(number), port == nil || port == number else { return false }
        guard host.hasPrefix("[") else { return IPAddress(String(host))?.isV4 == true }
        return host.hasSuffix("]") && IPAddress(String(host.dropFirst().dropLast()))?.isV4 == false
    }

    /// Returns whether a text is a port number as Kubernetes writes it.
    private static func isNumber(_ text: some StringProtocol) -> Bool {
        guard let number = UInt16(text), number > 0 else { return false }
        return "\(number)" == text
    }
}
