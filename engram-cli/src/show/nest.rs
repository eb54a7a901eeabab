//! Puts sub-agents that have tapes of their own at the calls that started them.

use std::collections::HashMap;

use super::view::{Body, DEEPEST, Facts, SessionView, push_agent};

/// A session, or a sub-agent of one.
type Place = usize;

/// The session with its sub-agents. One whose call is not known comes at the end of its session.
pub fn nest(root: SessionView, agents: Vec<SessionView>) -> SessionView {
    let mut views: Vec<Option<SessionView>> =
        std::iter::once(root).chain(agents).map(Some).collect();
    let calls = calls(&views);
    let roots = roots(&views);
    let parents: Vec<(Place, Option<usize>)> = (0..views.len())
        .map(|index| {
            views[index]
                .as_ref()
                .map_or((0, None), |view| parent(&view.facts, index, &calls, &roots))
        })
        .collect();
    let depths = depths(&parents);
    // The deepest first, so that each is complete before it moves.
    let mut order: Vec<usize> = (1..views.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(depths[*index].0));
    for index in order {
        let (depth, above) = depths[index];
        let (mut place, mut item) = if depth > DEEPEST {
            (above, None)
        } else {
            parents[index]
        };
        if views[place].is_none() {
            (place, item) = (0, None);
        }
        let Some(agent) = views[index].take() else {
            continue;
        };
        let Some(view) = &mut views[place] else {
            continue;
        };
        match item.map(|item| &mut view.items[item].body) {
            Some(Body::Call(call)) => call.agents.push(agent),
            _ => push_agent(&mut view.items, agent),
        }
    }
    views.swap_remove(0).unwrap_or_default()
}

/// The first view of each session that is not that of a sub-agent.
fn roots(views: &[Option<SessionView>]) -> HashMap<Option<String>, Place> {
    let mut roots = HashMap::new();
    for (place, view) in views.iter().enumerate() {
        if let Some(view) = view.as_ref().filter(|view| {
            view.facts.agent_id.is_none() || view.facts.agent_id == view.facts.session_id
        }) {
            roots.entry(view.facts.session_id.clone()).or_insert(place);
        }
    }
    roots
}

/// The place of each call, by session and id.
fn calls(views: &[Option<SessionView>]) -> HashMap<(Option<String>, String), (Place, usize)> {
    let mut calls = HashMap::new();
    for (place, view) in views.iter().enumerate() {
        let Some(view) = view else { continue };
        for (at, item) in view.items.iter().enumerate() {
            if let Body::Call(call) = &item.body
                && let Some(id) = &call.call_id
            {
                calls
                    .entry((view.facts.session_id.clone(), id.clone()))
                    .or_insert((place, at));
            }
        }
    }
    calls
}

/// The place of the call that started an agent; else that of its parent session.
fn parent(
    facts: &Facts,
    own: usize,
    calls: &HashMap<(Option<String>, String), (Place, usize)>,
    roots: &HashMap<Option<String>, Place>,
) -> (Place, Option<usize>) {
    let session = facts
        .parent_session_id
        .clone()
        .or_else(|| facts.session_id.clone());
    let call = facts
        .parent_call_id
        .clone()
        .and_then(|call| calls.get(&(session.clone(), call)));
    if let Some((place, item)) = call.filter(|(place, _)| *place != own) {
        return (*place, Some(*item));
    }
    (
        roots
            .get(&session)
            .copied()
            .filter(|place| *place != own)
            .unwrap_or(0),
        None,
    )
}

/// For each view: how many views are above it, and under which view the views below it are shown. That is the view itself, or, if the view
/// is too deep, its deepest ancestor that is not. A view in a circle of parents counts as deepest.
fn depths(parents: &[(Place, Option<usize>)]) -> Vec<(usize, Place)> {
    let mut depths: Vec<Option<(usize, Place)>> = vec![None; parents.len()];
    depths[0] = Some((0, 0));
    for index in 1..parents.len() {
        // Up to one that is known, or that was passed already.
        let (mut path, mut place) = (Vec::new(), index);
        while depths[place].is_none() && path.len() < parents.len() {
            path.push(place);
            // Known for now, so that a circle ends here.
            depths[place] = Some((usize::MAX, 0));
            place = parents[place].0;
        }
        let (mut depth, mut above) = depths[place].unwrap_or_default();
        for place in path.into_iter().rev() {
            depth = depth.saturating_add(1);
            if depth < DEEPEST {
                above = place;
            }
            depths[place] = Some((depth, above));
        }
    }
    depths.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::calls::new_call;
    use crate::show::view::{Call, Item};

    fn view(session: &str, parent: Option<(&str, &str)>, calls: &[&str]) -> SessionView {
        let item = |(seq, id): (usize, &&str)| {
            let call = Call {
                call_id: Some((*id).to_owned()),
                ..new_call("task".to_owned())
            };
            Item {
                seq: seq as u64,
                also: Vec::new(),
                time: None,
                is_replay: false,
                is_rewound: false,
                body: Body::Call(Box::new(call)),
            }
        };
        let facts = Facts {
            session_id: Some(session.to_owned()),
            parent_session_id: parent.map(|(session, _)| session.to_owned()),
            parent_call_id: parent.map(|(_, call)| call.to_owned()),
            ..Facts::default()
        };
        SessionView {
            facts,
            items: calls.iter().enumerate().map(item).collect(),
            ..SessionView::default()
        }
    }

    /// `root(child(...) ...)`.
    fn shape(view: &SessionView) -> String {
        let of_item = |item: &Item| match &item.body {
            Body::Call(call) => call.agents.iter().map(shape).collect::<Vec<_>>().join(""),
            Body::Agent(agent) => format!("+{}", shape(agent)),
            _ => String::new(),
        };
        format!(
            "{}({})",
            view.facts.session_id.as_deref().unwrap_or("?"),
            view.items.iter().map(of_item).collect::<Vec<_>>().join(",")
        )
    }

    #[test]
    fn agents_are_at_their_calls_at_any_depth() {
        let agents = vec![
            view("c", Some(("b", "2")), &[]),
            view("b", Some(("a", "1")), &["2"]),
            view("d", Some(("a", "?")), &[]),
        ];
        assert_eq!(
            shape(&nest(view("a", None, &["0", "1"]), agents)),
            "a(,b(c()),+d())"
        );
    }

    #[test]
    fn a_chain_of_any_length_is_not_deeper_than_the_bound() {
        let id = |n: usize| format!("s{n}");
        let agents = (1..20_000)
            .map(|n| view(&id(n), Some((&id(n - 1), "1")), &["1"]))
            .collect();
        let mut nested = nest(view("s0", None, &["1"]), agents);
        let (mut depth, mut count) = (0, 1);
        loop {
            let agents: Vec<SessionView> = nested
                .items
                .into_iter()
                .flat_map(|item| match item.body {
                    Body::Call(call) => call.agents,
                    Body::Agent(agent) => vec![*agent],
                    _ => Vec::new(),
                })
                .collect();
            if agents.is_empty() {
                break;
            }
            (depth, count) = (depth + 1, count + agents.len());
            nested = SessionView {
                items: agents.into_iter().flat_map(|agent| agent.items).collect(),
                ..SessionView::default()
            };
        }
        assert_eq!((depth, count), (DEEPEST, 20_000));
    }

    #[test]
    fn a_circle_ends_at_the_root() {
        let agents = vec![
            view("b", Some(("c", "1")), &["1"]),
            view("c", Some(("b", "1")), &["1"]),
            view("d", Some(("d", "1")), &["1"]),
        ];
        let shape = shape(&nest(view("a", None, &[]), agents));
        assert!(
            ["b(", "c(", "d("]
                .iter()
                .all(|session| shape.matches(session).count() == 1),
            "{shape}"
        );
    }
}
