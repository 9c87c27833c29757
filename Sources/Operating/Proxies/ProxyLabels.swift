/// Unique labels for a configuration, made of letters, digits and `_`. Duplicates are numbered.
struct ProxyLabels {
    private var labels: [String: String] = [:]
    private var taken: Set<String> = []

    /// - Parameters:
    ///   - thing: A unique key. The label of a known key is returned again.
    ///   - name: The text to make the label from.
    mutating func label(of thing: String, as name: String) -> String {
        if let label = self.labels[thing] { return label }
        let plain = String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        var label = plain
        var number = 1
        // Names in Kubernetes are in lower case, so labels must differ in more than case.
        while !self.taken.insert(label.lowercased()).inserted {
            number += 1
            label = "\(plain)_\(number)"
        }
        self.labels[thing] = label
        return label
    }
}
