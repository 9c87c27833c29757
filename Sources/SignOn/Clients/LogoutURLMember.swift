import Settings
import Vocabulary

/// Converts between the gateway's member `backchannel_logout_uri` and Auth0's `oidc_logout.backchannel_logout_urls`, a
/// list of at most one URL. Only `backchannel_logout_uri` is stored.
enum LogoutURLMember {
    private static let (own, object, list) = ("backchannel_logout_uri", "oidc_logout", "backchannel_logout_urls")

    /// Returns the members of a request with `backchannel_logout_uri` instead of Auth0's list.
    ///
    /// - Throws: `client.invalid` if `backchannel_logout_urls` is not a list of at most one URL, or contradicts
    ///   `backchannel_logout_uri`.
    static func read(_ members: JSONValue, of clientID: String) throws(NotDone) -> JSONValue {
        guard case .object(var all) = members, let logout = all[Self.object] else { return members }
        let url: JSONValue
        switch logout {
        case .null: url = .null
        case .object(var rest):
            guard let list = rest.removeValue(forKey: Self.list) else { return members }
            url = try Self.url(in: list, of: clientID)
            all[Self.object] = rest.isEmpty ? nil : .object(rest)
        default: return members
        }
        if let given = all[Self.own], given != url {
            throw Self.fault(of: clientID, found: "another URL than in \(Self.own)", fix: "write one of the two")
        }
        all[Self.own] = url
        return .object(all)
    }

    /// Returns a client's members with Auth0's list added.
    static func shown(_ members: JSONValue) -> JSONValue {
        guard let url = members[Self.own] else { return members }
        return members.merged(with: [Self.object: [Self.list: [url]]])
    }

    /// Returns the list's only URL. `null` if the list is empty.
    private static func url(in list: JSONValue, of clientID: String) throws(NotDone) -> JSONValue {
        switch list {
        case .null, .array([]): return .null
        case .array(let urls) where urls.count == 1: return urls[0]
        default:
            throw Self.fault(of: clientID, found: "something else than one URL", fix: "write one URL in brackets")
        }
    }

    private static func fault(of clientID: String, found: String, fix: String) -> NotDone {
        NotDone(
            ClientFault(
                of: clientID,
                key: "\(Self.object).\(Self.list)",
                found: found,
                allowed: "a list of at most one URL",
                fix: fix
            )
        )
    }
}
