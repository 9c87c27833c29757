// As much of React as one component needs: hooks by their order, and effects after each rendering.
let current;

export const createElement = (type, props) => ({type, props});

export function useState(initial) {
  const {component, slot} = next(() => initial);
  return [component.slots[slot], value => {
    component.slots[slot] = value;
    component.update();
  }];
}
export function useRef(initial) {
  const {component, slot} = next(() => ({current: initial}));
  return component.slots[slot];
}
export function useCallback(work, dependencies) {
  const {component, slot} = next(() => ({work, dependencies}));
  if (changed(component.slots[slot].dependencies, dependencies)) component.slots[slot] = {work, dependencies};
  return component.slots[slot].work;
}
export function useEffect(work, dependencies) {
  const {component, slot, isNew} = next(() => ({dependencies}));
  if (isNew || changed(component.slots[slot].dependencies, dependencies)) component.effects.push(work);
  component.slots[slot] = {dependencies};
}

/** Renders a component, and what it shows by its `mount` or, when it is there, its `update`. */
export function render(type, props) {
  const component = {slots: [], effects: [], update() {
    if (component.isClosed) return;
    [current, component.slot] = [component, 0];
    const shown = type(props);
    const last = component.shown;
    component.shown = shown;
    for (const effect of component.effects.splice(0)) effect();
    if (shown && shown === component.shown) shown.type[last?.type === shown.type ? 'update' : 'mount']?.(shown.props, last?.props);
  }, close: () => (component.isClosed = true)};
  component.update();
  return component;
}

function next(initial) {
  const component = current;
  const slot = component.slot++;
  const isNew = slot >= component.slots.length;
  if (isNew) component.slots.push(initial());
  return {component, slot, isNew};
}
const changed = (one, other) => !one || one.some((value, index) => !Object.is(value, other[index]));
