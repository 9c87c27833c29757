import {say} from 'react-native';

const load = ({source: {uri, headers}}) => say({load: uri, headers});
export const WebView = {
  mount(props) {
    say({script: 'window.ReactNativeWebView = {postMessage: data => bridge(JSON.stringify({data, url: location.href}))}'});
    say({script: props.injectedJavaScriptBeforeContentLoaded});
    load(props);
  },
  update(props, last) {
    if (JSON.stringify(props.source) !== JSON.stringify(last.source)) load(props);
  },
};
