import Endpoints
import SignOn
import TestSupport
import Vocabulary

/// The bodies and filters of SCIM clients: they set values that fit, or are refused with words, and no change of `active` is
/// lost.
enum SCIMFuzzing {
    private static let members: [ArbitraryJSON.Member] = [
        ("schemas", #"["urn:ietf:params:scim:schemas:core:2.0:User"]"#), ("externalId", #""00u1""#),
        ("userName", #""ada@example.com""#), ("active", #""False""#), ("name", #"{"givenName":"Ada"}"#),
        (
            "Operations",
            #"[{"op":"Replace","path":"active","value":"False"},{"op":"add","value":{"userName":"a","active":true}}]"#
        ),
    ]

    /// A body as chance has it.
    static func sample(_ chance: inout ArbitraryJSON) -> [UInt8] {
        chance.bytes(of: chance.object(like: self.members))
    }

    static func body(_ bytes: [UInt8]) -> String? {
        do throws(NotDone) {
            _ = try SCIMBody.filter(String(decoding: bytes, as: UTF8.self))
        } catch {
            if let violation = self.violation(of: error) { return violation }
        }
        let readers: [(read: ([UInt8]) throws(NotDone) -> ProvisioningChange, isPatch: Bool)] = [
            (SCIMBody.user, false), (SCIMBody.patch, true),
        ]
        for (read, isPatch) in readers {
            do throws(NotDone) {
                let change = try read(bytes)
                for name in [change.userName, change.externalID] {
                    if let name, !(1...256).contains(name.utf8.count) { return "a name that does not fit" }
                }
                if isPatch, change.isActive == nil, self.changesActive(bytes) { return "a change of active is lost" }
            } catch {
                if let violation = self.violation(of: error) { return violation }
            }
        }
        return nil
    }

    private static func violation(of error: NotDone) -> String? {
        error.reason == .scimInvalid && error.text?.isEmpty == false && error.detail?.isEmpty == false
            ? nil : "a refusal without words"
    }

    /// Whether an operation has `active` as its path, or in its value.
    private static func changesActive(_ bytes: [UInt8]) -> Bool {
        func member(_ name: String, of value: JSONValue) -> JSONValue? {
            guard case .object(let members) = value else { return nil }
            return members.first { $0.key.lowercased() == name }?.value
        }
        guard let body = JSONText.decode(bytes), case .array(let operations)? = member("operations", of: body) else {
            return false
        }
        return operations.contains { operation in
            member("path", of: operation)?.string?.lowercased() == "active"
                || member("value", of: operation).flatMap { member("active", of: $0) } != nil
        }
    }
}
