import Vocabulary

extension SettingsBuilder {
    /// Returns the environment's proxies for the gateway's own calls. Reports unusable proxies.
    mutating func environmentProxies() -> OutgoingProxies {
        var proxies = OutgoingProxies()
        proxies.secure = self.proxy(in: ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
        proxies.plain = self.proxy(in: ["http_proxy", "all_proxy", "ALL_PROXY"])
        proxies.exceptions = ProxyException.all(in: self.variable(in: ["no_proxy", "NO_PROXY"])?.value ?? "")
        return proxies
    }

    /// Returns the first named variable that is set and not empty.
    private func variable(in names: [String]) -> (name: String, value: String)? {
        for name in names {
            if let value = self.environment[name], !value.isEmpty { return (name, value) }
        }
        return nil
    }

    private mutating func proxy(in names: [String]) -> OutgoingProxy? {
        guard let (name, value) = self.variable(in: names) else { return nil }
        do throws(SyntaxFault) {
            return try OutgoingProxy(value, origin: name)
        } catch {
            self.report(
                KeyPlace(origin: .environment(name), key: ""),
                found: "a proxy that cannot be used (not shown)",
                allowed: TextRule.httpProxy.allowed,
                fix: "\(error.fix), or unset it"
            )
            return nil
        }
    }

    /// Returns the proxies for calls to one provider.
    ///
    /// - Parameter tree: `provider`, or an element of `providers`.
    mutating func proxies(of tree: SettingsTree, _ environment: OutgoingProxies) -> OutgoingProxies {
        if tree["http_proxy"] != nil, tree["http_proxy_file"] != nil {
            self.report(
                tree.place(of: "http_proxy_file"),
                found: "both http_proxy and http_proxy_file",
                allowed: "one of them",
                fix: "remove one"
            )
        }
        let text: Secret?
        let key: String
        if tree["http_proxy"] != nil {
            (text, key) = (tree.secret("http_proxy"), tree.key(of: "http_proxy"))
        } else if tree["http_proxy_file"] != nil {
            (text, key) = (self.secret("http_proxy_file", of: tree), tree.key(of: "http_proxy_file"))
        } else {
            return environment
        }
        var proxies = OutgoingProxies()
        guard let text, text != Secret(TextRule.noProxy) else { return proxies }
        do throws(SyntaxFault) {
            let proxy = try OutgoingProxy(String(decoding: text.bytes, as: UTF8.self), origin: key)
            (proxies.secure, proxies.plain, proxies.servesLoopback) = (proxy, proxy, true)
        } catch {
            self.report(
                KeyPlace(origin: tree.place(of: "http_proxy_file").origin, key: key),
                found: "a proxy that cannot be used (not shown)",
                allowed: TextRule.httpProxy.allowed,
                fix: error.fix
            )
        }
        return proxies
    }
}
